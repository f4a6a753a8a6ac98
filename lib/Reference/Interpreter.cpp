//===- Interpreter.cpp - Evaluation of functions --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks blocks in order with an environment of tensors and index values. Base
// ops come from the table; upstream tensor ops, arithmetic on sizes, fusions
// and launches are handled here.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "hk/Dialect/ShapeRelations.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

#include <memory>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;
using ::hk::DType;

namespace {
using TensorPtr = std::shared_ptr<const Tensor>;

/// Values of one region; regions that are evaluated are isolated from above.
struct Environment {
  llvm::DenseMap<Value, TensorPtr> tensors;
  llvm::DenseMap<Value, int64_t> integers;

  const Tensor &tensor(Value v) const { return *tensors.find(v)->second; }
  int64_t integer(Value v) const { return integers.find(v)->second; }
  int64_t integer(OpFoldResult v) const {
    if (auto constant = getConstantIntValue(v))
      return *constant;
    return integer(cast<Value>(v));
  }
  SmallVector<int64_t> allOf(ArrayRef<OpFoldResult> values) const {
    return llvm::map_to_vector(values,
                               [&](OpFoldResult v) { return integer(v); });
  }
};

class Interpreter {
public:
  explicit Interpreter(WeightProvider provider)
      : provider(std::move(provider)) {}

  /// The operands of the block's terminator.
  FailureOr<SmallVector<TensorPtr>> run(Block &block,
                                        ArrayRef<TensorPtr> arguments);

private:
  LogicalResult evaluate(Operation *op, Environment &env);
  LogicalResult evaluateBase(Operation *op, Evaluator evaluator,
                             Environment &env);
  LogicalResult evaluateRegion(Operation *op, Block &block, Environment &env);
  LogicalResult evaluateTensorOp(Operation *op, Environment &env);
  LogicalResult evaluateWeight(WeightRefOp op, Environment &env);

  WeightProvider provider;
  llvm::DenseMap<Operation *, TensorPtr> weights;
};
} // namespace

//===----------------------------------------------------------------------===//
// Upstream tensor ops
//===----------------------------------------------------------------------===//

static TensorPtr share(Tensor tensor) {
  return std::make_shared<const Tensor>(std::move(tensor));
}

static std::string sizesText(ArrayRef<int64_t> sizes) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(sizes))
    text += (i ? ", " : "") + std::to_string(size);
  return text + "]";
}

static DType dtypeOfTensor(Type type) {
  return *dtypeOf(cast<ShapedType>(type).getElementType());
}

/// Memory that nothing has written: NaN where the type has one.
static Tensor uninitialised(DType dtype, ArrayRef<int64_t> sizes) {
  Tensor tensor(dtype, sizes);
  llvm::fill(tensor.values, roundTo(dtype, kNaN));
  return tensor;
}

static TensorPtr reshaped(const Tensor &from, ArrayRef<int64_t> sizes) {
  Tensor tensor = from;
  tensor.sizes.assign(sizes.begin(), sizes.end());
  return share(std::move(tensor));
}

/// Calls fn(k, position) for element k of the slice at `position` of a tensor
/// of `sizes`.
static void forEachInSlice(ArrayRef<int64_t> sizes, ArrayRef<int64_t> offsets,
                           ArrayRef<int64_t> counts, ArrayRef<int64_t> steps,
                           function_ref<void(int64_t, int64_t)> fn) {
  int64_t rank = sizes.size(), total = 1, position = 0, stride = 1;
  SmallVector<int64_t> index(rank, 0), strides(rank);
  for (int64_t d = rank - 1; d >= 0; --d) {
    strides[d] = stride * steps[d];
    position += offsets[d] * stride;
    stride *= sizes[d];
    total *= counts[d];
  }
  for (int64_t k = 0; k < total; ++k) {
    fn(k, position);
    for (int64_t d = rank - 1; d >= 0; --d) {
      position += strides[d];
      if (++index[d] < counts[d])
        break;
      position -= strides[d] * counts[d];
      index[d] = 0;
    }
  }
}

/// The slice of a tensor of `sizes` lies inside it.
static LogicalResult verifySlice(Operation *op, ArrayRef<int64_t> sizes,
                                 ArrayRef<int64_t> offsets,
                                 ArrayRef<int64_t> counts,
                                 ArrayRef<int64_t> steps) {
  for (size_t d = 0; d < sizes.size(); ++d) {
    int64_t last = offsets[d] + (counts[d] - 1) * steps[d];
    if (counts[d] != 0 && (offsets[d] < 0 || last < 0 || last >= sizes[d]))
      return op->emitOpError("expected slice of dim ")
             << d << " to be in [0, " << sizes[d] << "), but got " << offsets[d]
             << " to " << last;
  }
  return success();
}

static FailureOr<TensorPtr> extractSlice(tensor::ExtractSliceOp op,
                                         const Environment &env) {
  const Tensor &from = env.tensor(op.getSource());
  SmallVector<int64_t> offsets = env.allOf(op.getMixedOffsets());
  SmallVector<int64_t> counts = env.allOf(op.getMixedSizes());
  SmallVector<int64_t> steps = env.allOf(op.getMixedStrides());
  if (failed(verifySlice(op, from.sizes, offsets, counts, steps)))
    return failure();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<int64_t> sizes;
  for (auto [d, count] : llvm::enumerate(counts))
    if (!dropped.test(d))
      sizes.push_back(count);
  Tensor result(from.dtype, sizes);
  auto pick = [&](const std::vector<double> &all, std::vector<double> &some) {
    some.resize(all.empty() ? 0 : result.values.size());
    if (!all.empty())
      forEachInSlice(from.sizes, offsets, counts, steps,
                     [&](int64_t k, int64_t at) { some[k] = all[at]; });
  };
  pick(from.values, result.values);
  pick(from.error, result.error);
  pick(from.jump, result.jump);
  return share(std::move(result));
}

static FailureOr<TensorPtr> insertSlice(tensor::InsertSliceOp op,
                                        const Environment &env) {
  const Tensor &source = env.tensor(op.getSource());
  Tensor result = env.tensor(op.getDest());
  SmallVector<int64_t> offsets = env.allOf(op.getMixedOffsets());
  SmallVector<int64_t> counts = env.allOf(op.getMixedSizes());
  SmallVector<int64_t> steps = env.allOf(op.getMixedStrides());
  if (failed(verifySlice(op, result.sizes, offsets, counts, steps)))
    return failure();
  if (!source.error.empty() && result.error.empty())
    result.error.assign(result.values.size(), 0);
  if (!source.jump.empty() && result.jump.empty())
    result.jump.assign(result.values.size(), 0);
  forEachInSlice(result.sizes, offsets, counts, steps,
                 [&](int64_t k, int64_t position) {
                   result.values[position] = source.values[k];
                   if (!result.error.empty())
                     result.error[position] = source.errorAt(k);
                   if (!result.jump.empty())
                     result.jump[position] = source.jumpAt(k);
                 });
  return share(std::move(result));
}

LogicalResult Interpreter::evaluateTensorOp(Operation *op, Environment &env) {
  auto sizesOf = [&](ArrayRef<OpFoldResult> sizes) { return env.allOf(sizes); };
  FailureOr<TensorPtr> result =
      llvm::TypeSwitch<Operation *, FailureOr<TensorPtr>>(op)
          .Case([&](tensor::EmptyOp empty) {
            return share(uninitialised(dtypeOfTensor(empty.getType()),
                                       sizesOf(empty.getMixedSizes())));
          })
          .Case([&](tensor::CastOp cast) {
            return env.tensors.lookup(cast.getSource());
          })
          .Case([&](bufferization::MaterializeInDestinationOp materialize) {
            return env.tensors.lookup(materialize.getSource());
          })
          .Case([&](tensor::ExpandShapeOp expand) {
            return reshaped(env.tensor(expand.getSrc()),
                            sizesOf(expand.getMixedOutputShape()));
          })
          .Case([&](tensor::CollapseShapeOp collapse) {
            const Tensor &from = env.tensor(collapse.getSrc());
            SmallVector<int64_t> sizes;
            for (const ReassociationIndices &group :
                 collapse.getReassociationIndices()) {
              int64_t size = 1;
              for (int64_t d : group)
                size *= from.sizes[d];
              sizes.push_back(size);
            }
            return reshaped(from, sizes);
          })
          .Case([&](tensor::ExtractSliceOp slice) {
            return extractSlice(slice, env);
          })
          .Case([&](tensor::InsertSliceOp insert) {
            return insertSlice(insert, env);
          })
          .Default([&](Operation *unknown) -> FailureOr<TensorPtr> {
            return unknown->emitOpError(
                "has no meaning in the reference interpreter");
          });
  if (failed(result))
    return failure();
  if (op->getNumResults() == 1)
    env.tensors[op->getResult(0)] = *result;
  return success();
}

//===----------------------------------------------------------------------===//
// Arithmetic on sizes
//===----------------------------------------------------------------------===//

/// The value of an arith op on integers; nullopt for another op.
static std::optional<int64_t> evaluateInteger(Operation *op,
                                              const Environment &env) {
  using Result = std::optional<int64_t>;
  auto binary = [&](auto fn) -> Result {
    return fn(env.integer(op->getOperand(0)), env.integer(op->getOperand(1)));
  };
  auto ceilDiv = [](int64_t a, int64_t b) {
    return b == 0 ? 0 : (a + b - 1) / b;
  };
  auto divide = [](int64_t a, int64_t b) { return b == 0 ? 0 : a / b; };
  auto remainder = [](int64_t a, int64_t b) { return b == 0 ? 0 : a % b; };
  auto lesser = [](int64_t a, int64_t b) { return std::min(a, b); };
  auto greater = [](int64_t a, int64_t b) { return std::max(a, b); };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](arith::ConstantOp constant) -> Result {
        auto value = dyn_cast<IntegerAttr>(constant.getValue());
        return value ? Result(value.getInt()) : std::nullopt;
      })
      .Case([&](tensor::DimOp dim) -> Result {
        ArrayRef<int64_t> sizes = env.tensor(dim.getSource()).sizes;
        int64_t d = env.integer(dim.getIndex());
        return d >= 0 && d < static_cast<int64_t>(sizes.size())
                   ? Result(sizes[d])
                   : std::nullopt;
      })
      .Case([&](arith::AddIOp) { return binary(std::plus<int64_t>()); })
      .Case([&](arith::SubIOp) { return binary(std::minus<int64_t>()); })
      .Case([&](arith::MulIOp) { return binary(std::multiplies<int64_t>()); })
      .Case<arith::DivUIOp, arith::DivSIOp>(
          [&](auto) { return binary(divide); })
      .Case<arith::RemUIOp, arith::RemSIOp>(
          [&](auto) { return binary(remainder); })
      .Case<arith::CeilDivUIOp, arith::CeilDivSIOp>(
          [&](auto) { return binary(ceilDiv); })
      .Case<arith::MinUIOp, arith::MinSIOp>(
          [&](auto) { return binary(lesser); })
      .Case<arith::MaxUIOp, arith::MaxSIOp>(
          [&](auto) { return binary(greater); })
      .Default([](Operation *) { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// Blocks and ops
//===----------------------------------------------------------------------===//

LogicalResult Interpreter::evaluateBase(Operation *op, Evaluator evaluator,
                                        Environment &env) {
  SmallVector<const Tensor *> operands;
  for (Value operand : op->getOperands())
    operands.push_back(&env.tensor(operand));
  // What the operator states of its sizes holds for those of this call: of the
  // operands before it is evaluated, of the results after.
  ShapeRelations relations = shapeRelationsOf(op);
  auto sizeOf = [&](Value v, int64_t dim) -> std::optional<int64_t> {
    auto tensor = env.tensors.find(v);
    if (tensor == env.tensors.end())
      return std::nullopt;
    return tensor->second->sizes[dim];
  };
  SmallVector<Tensor, 2> results;
  if (failed(relations.check(op, sizeOf, " at run time")) ||
      failed(evaluator(op, Operands(op, operands), results)))
    return failure();
  for (auto [value, tensor] : llvm::zip_equal(op->getResults(), results)) {
    auto type = cast<RankedTensorType>(value.getType());
    if (failed(verifyCompatibleShape(type.getShape(), tensor.sizes)))
      return op->emitOpError("expected a result of type ")
             << type << ", but its sizes are " << sizesText(tensor.sizes)
             << " at run time";
    env.tensors[value] = share(std::move(tensor));
  }
  return relations.check(op, sizeOf, " at run time");
}

LogicalResult Interpreter::evaluateRegion(Operation *op, Block &block,
                                          Environment &env) {
  SmallVector<TensorPtr> arguments;
  for (Value operand : op->getOperands())
    arguments.push_back(env.tensors.lookup(operand));
  FailureOr<SmallVector<TensorPtr>> results = run(block, arguments);
  if (failed(results))
    return failure();
  for (auto [value, tensor] : llvm::zip_equal(op->getResults(), *results))
    env.tensors[value] = tensor;
  return success();
}

LogicalResult Interpreter::evaluateWeight(WeightRefOp op, Environment &env) {
  auto weight =
      SymbolTable::lookupNearestSymbolFrom<WeightOp>(op, op.getWeightAttr());
  if (!weight || !provider)
    return op.emitOpError("expected a value of weight ")
           << op.getWeightAttr() << ", but got none";
  TensorPtr &tensor = weights[weight];
  if (!tensor) {
    FailureOr<Tensor> value = provider(weight);
    if (failed(value))
      return op.emitOpError("could not read weight ") << op.getWeightAttr();
    auto type = cast<RankedTensorType>(weight.getType());
    if (value->dtype != dtypeOfTensor(type) ||
        ArrayRef<int64_t>(value->sizes) != type.getShape())
      return op.emitOpError("expected value of weight ")
             << op.getWeightAttr() << " to be of type " << type;
    tensor = share(std::move(*value));
  }
  env.tensors[op.getResult()] = tensor;
  return success();
}

LogicalResult Interpreter::evaluate(Operation *op, Environment &env) {
  if (Evaluator evaluator = evaluatorOf(op->getName().getStringRef()))
    return evaluateBase(op, evaluator, env);
  if (auto value = evaluateInteger(op, env)) {
    env.integers[op->getResult(0)] = *value;
    return success();
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](FusedOp fused) {
        return evaluateRegion(op, fused.getBody().front(), env);
      })
      .Case([&](arith::ConstantOp constant) {
        if (!isa<RankedTensorType>(constant.getType()))
          return evaluateTensorOp(op, env);
        return evaluateBase(op, evaluatorOf(ConstantOp::getOperationName()),
                            env);
      })
      .Case([&](LaunchOp launch) {
        auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(
            op, launch.getKernelAttr());
        return evaluateRegion(op, kernel.getSpecBlock(), env);
      })
      .Case([&](func::CallOp call) -> LogicalResult {
        auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
            op, call.getCalleeAttr());
        if (!callee || callee.isExternal())
          return op->emitOpError("expected callee to have a body");
        return evaluateRegion(op, callee.getBody().front(), env);
      })
      .Case([&](WeightRefOp weight) { return evaluateWeight(weight, env); })
      .Case([&](GuardOp guard) -> LogicalResult {
        int64_t lhs = env.integer(guard.getLhs());
        int64_t rhs = env.integer(guard.getRhs());
        GuardRelation relation = guard.getRelation();
        if (relation == GuardRelation::eq)
          return requireSize(op, "second size", lhs, rhs);
        bool isLe = relation == GuardRelation::le;
        if (isLe ? lhs <= rhs : lhs >= rhs)
          return success();
        return op->emitOpError("expected the first size to be at ")
               << (isLe ? "most " : "least ") << rhs << ", but got " << lhs;
      })
      .Default([&](Operation *) { return evaluateTensorOp(op, env); });
}

FailureOr<SmallVector<TensorPtr>>
Interpreter::run(Block &block, ArrayRef<TensorPtr> arguments) {
  Environment env;
  for (auto [argument, tensor] :
       llvm::zip_equal(block.getArguments(), arguments))
    env.tensors[argument] = tensor;
  for (Operation &op : block.without_terminator()) {
    if (failed(evaluate(&op, env)))
      return failure();
    // Free what is used for the last time here.
    for (Value operand : op.getOperands())
      if (llvm::all_of(operand.getUsers(), [&](Operation *user) {
            return user == &op || user->isBeforeInBlock(&op);
          }))
        env.tensors.erase(operand);
  }
  return llvm::map_to_vector(
      block.getTerminator()->getOperands(),
      [&](Value v) -> TensorPtr { return env.tensors.lookup(v); });
}

bool reference::hasEvaluator(StringRef operationName) {
  return evaluatorOf(operationName) != nullptr;
}

static FailureOr<SmallVector<Tensor>>
copies(FailureOr<SmallVector<TensorPtr>> results) {
  if (failed(results))
    return failure();
  return llvm::map_to_vector(*results, [](const TensorPtr &t) { return *t; });
}

FailureOr<SmallVector<Tensor>> reference::interpret(func::FuncOp function,
                                                    ArrayRef<Tensor> arguments,
                                                    WeightProvider weights) {
  if (function.isExternal())
    return function.emitOpError("expected a body to interpret");
  if (function.getNumArguments() != arguments.size())
    return function.emitOpError("expected number of arguments to be ")
           << function.getNumArguments() << ", but got " << arguments.size();
  SmallVector<TensorPtr> shared;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[i]);
    if (!type || dtypeOf(type.getElementType()) != argument.dtype ||
        failed(verifyCompatibleShape(type.getShape(), argument.sizes)))
      return function.emitOpError("expected argument ")
             << i << " to be of type " << function.getArgumentTypes()[i]
             << ", but got " << ::hk::info(argument.dtype).name << " of sizes "
             << sizesText(argument.sizes);
    shared.push_back(share(argument));
  }
  return copies(
      Interpreter(std::move(weights)).run(function.getBody().front(), shared));
}

FailureOr<SmallVector<Tensor>>
reference::interpret(Block &block, ArrayRef<Tensor> arguments) {
  return copies(
      Interpreter(nullptr).run(block, llvm::map_to_vector(arguments, share)));
}
