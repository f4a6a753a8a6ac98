//===- Interpreter.cpp - Evaluation of functions --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks blocks in order with an environment of tensors and index values for
// each rank. Base ops come from the table; upstream tensor ops, arithmetic on
// sizes, fusions and launches are handled here. All ranks have passed an op
// before the next one, so that an op over several ranks finds their operands.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "hk/Dialect/ShapeRelations.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
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

using Environments = MutableArrayRef<Environment>;
/// Tensors of every rank.
using RankTensors = std::vector<SmallVector<TensorPtr>>;

class Interpreter {
public:
  explicit Interpreter(WeightProvider provider)
      : provider(std::move(provider)) {}

  /// The operands of the block's terminator, on every rank.
  FailureOr<RankTensors> run(Block &block, const RankTensors &arguments);

private:
  LogicalResult evaluate(Operation *op, Environments ranks);
  LogicalResult evaluate(Operation *op, Environment &env);
  LogicalResult evaluateRanks(CollectiveOpInterface op, Environments ranks);
  LogicalResult evaluateBase(Operation *op, const Evaluator &evaluator,
                             Environment &env);
  LogicalResult evaluateRegion(Operation *op, Block &block, Environments ranks);
  LogicalResult evaluateTensorOp(Operation *op, Environment &env);
  LogicalResult evaluateWeight(WeightRefOp op, Environments ranks);

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
  // By 0 as by 1, which is what compiled functions do.
  auto ceilDiv = [](int64_t a, int64_t b) {
    return b == 0 ? a : (a + b - 1) / b;
  };
  auto divide = [](int64_t a, int64_t b) { return b == 0 ? a : a / b; };
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

/// What `op` states of its sizes holds for those of this call: of the operands
/// before it is evaluated, of the results after.
static LogicalResult checkSizes(Operation *op, const Environment &env) {
  auto sizeOf = [&](Value v, int64_t dim) -> std::optional<int64_t> {
    auto tensor = env.tensors.find(v);
    if (tensor == env.tensors.end())
      return std::nullopt;
    return tensor->second->sizes[dim];
  };
  return shapeRelationsOf(op).check(op, sizeOf, " at run time");
}

static LogicalResult bindResults(Operation *op, MutableArrayRef<Tensor> results,
                                 Environment &env) {
  for (auto [value, tensor] : llvm::zip_equal(op->getResults(), results)) {
    auto type = cast<RankedTensorType>(value.getType());
    if (failed(verifyCompatibleShape(type.getShape(), tensor.sizes)))
      return op->emitOpError("expected a result of type ")
             << type << ", but its sizes are " << sizesText(tensor.sizes)
             << " at run time";
    env.tensors[value] = share(std::move(tensor));
  }
  return checkSizes(op, env);
}

LogicalResult Interpreter::evaluateBase(Operation *op,
                                        const Evaluator &evaluator,
                                        Environment &env) {
  SmallVector<const Tensor *> operands;
  for (Value operand : op->getOperands())
    operands.push_back(&env.tensor(operand));
  SmallVector<Tensor, 2> results;
  if (failed(checkSizes(op, env)) ||
      failed(evaluator(op, Operands(op, operands), results)))
    return failure();
  return bindResults(op, results, env);
}

/// The operands and results of the ranks along an axis, in their order.
static LogicalResult
evaluateLine(CollectiveOpInterface op,
             ArrayRef<SmallVector<const Tensor *>> operands,
             SmallVectorImpl<SmallVector<Tensor>> &results) {
  if (auto rows = dyn_cast<AllToAllRowsOp>(op.getOperation()))
    return evaluateRowExchange(rows, operands, results);
  SmallVector<const Tensor *> inputs;
  for (const SmallVector<const Tensor *> &tensors : operands)
    inputs.push_back(tensors.empty() ? nullptr : tensors.front());
  SmallVector<Tensor, 2> each;
  if (failed(evaluateCollective(op, inputs, each)))
    return failure();
  for (Tensor &tensor : each)
    results.emplace_back().push_back(std::move(tensor));
  return success();
}

/// Once for every line of ranks along the axis.
LogicalResult Interpreter::evaluateRanks(CollectiveOpInterface op,
                                         Environments ranks) {
  std::optional<::hk::Mesh> mesh = meshOf(op);
  if (static_cast<int64_t>(ranks.size()) != mesh->numRanks())
    return op->emitOpError("expected the inputs of all ")
           << mesh->numRanks() << " ranks of its module's mesh, but got those "
           << "of " << ranks.size();
  int axis = mesh->find(op.getAxis().str());
  for (size_t first = 0; first < ranks.size(); ++first) {
    if (mesh->placeOf(first, axis) != 0)
      continue;
    SmallVector<Environment *> line;
    SmallVector<SmallVector<const Tensor *>> operands;
    for (int64_t place = 0; place < mesh->axes()[axis].size; ++place) {
      line.push_back(&ranks[mesh->rankAt(first, axis, place)]);
      if (failed(checkSizes(op, *line.back())))
        return failure();
      operands.emplace_back();
      for (Value operand : op->getOperands())
        operands.back().push_back(&line.back()->tensor(operand));
    }
    SmallVector<SmallVector<Tensor>> results;
    if (failed(evaluateLine(op, operands, results)))
      return failure();
    for (auto [env, tensors] : llvm::zip_equal(line, results))
      if (failed(bindResults(op, tensors, *env)))
        return failure();
  }
  return success();
}

LogicalResult Interpreter::evaluateRegion(Operation *op, Block &block,
                                          Environments ranks) {
  RankTensors arguments(ranks.size());
  for (auto [env, tensors] : llvm::zip_equal(ranks, arguments))
    for (Value operand : op->getOperands())
      tensors.push_back(env.tensors.lookup(operand));
  FailureOr<RankTensors> results = run(block, arguments);
  if (failed(results))
    return failure();
  for (auto [env, tensors] : llvm::zip_equal(ranks, *results))
    for (auto [value, tensor] : llvm::zip_equal(op->getResults(), tensors))
      env.tensors[value] = tensor;
  return success();
}

/// What the rank has of a weight of which `whole` is all.
static Tensor partOfWeight(const Tensor &whole, WeightOp weight,
                           const ::hk::Mesh &mesh, int64_t rank) {
  Tensor part = whole;
  std::vector<int64_t> sizes(whole.sizes.begin(), whole.sizes.end());
  for (const ::hk::WeightSlice &slice : weight.getCuts()) {
    int axis = mesh.find(slice.axis);
    std::vector<double> from = std::move(part.values);
    part.values.resize(from.size() / slice.wholeSize() * slice.partSize());
    ::hk::cutWeight(slice, sizes, sizeof(double), mesh.placeOf(rank, axis),
                    mesh.axes()[axis].size,
                    reinterpret_cast<const char *>(from.data()),
                    reinterpret_cast<char *>(part.values.data()));
    sizes[slice.dim] = slice.partSize();
  }
  part.sizes.assign(sizes.begin(), sizes.end());
  return part;
}

LogicalResult Interpreter::evaluateWeight(WeightRefOp op, Environments ranks) {
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
    RankedTensorType type = weight.getWholeType();
    if (value->dtype != dtypeOfTensor(type) ||
        ArrayRef<int64_t>(value->sizes) != type.getShape())
      return op.emitOpError("expected value of weight ")
             << op.getWeightAttr() << " to be of type " << type;
    tensor = share(std::move(*value));
  }
  std::optional<::hk::Mesh> mesh = meshOf(op);
  for (auto [rank, env] : llvm::enumerate(ranks))
    env.tensors[op.getResult()] =
        weight.getSlices()
            ? share(partOfWeight(*tensor, weight, *mesh, int64_t(rank)))
            : tensor;
  return success();
}

LogicalResult Interpreter::evaluate(Operation *op, Environments ranks) {
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return evaluateRanks(collective, ranks);
  if (auto weight = dyn_cast<WeightRefOp>(op))
    return evaluateWeight(weight, ranks);
  if (auto fused = dyn_cast<FusedOp>(op))
    return evaluateRegion(op, fused.getBody().front(), ranks);
  if (auto launch = dyn_cast<LaunchOp>(op)) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(
        op, launch.getKernelAttr());
    return evaluateRegion(op, kernel.getSpecBlock(), ranks);
  }
  if (auto call = dyn_cast<func::CallOp>(op)) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        op, call.getCalleeAttr());
    if (!callee || callee.isExternal())
      return op->emitOpError("expected callee to have a body");
    return evaluateRegion(op, callee.getBody().front(), ranks);
  }
  for (Environment &env : ranks)
    if (failed(evaluate(op, env)))
      return failure();
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
      .Case([&](arith::ConstantOp constant) {
        if (!isa<RankedTensorType>(constant.getType()))
          return evaluateTensorOp(op, env);
        return evaluateBase(op, evaluatorOf(ConstantOp::getOperationName()),
                            env);
      })
      // An annotation changes no value.
      .Case([&](shard::ShardingOp) { return success(); })
      .Case([&](shard::ShardOp op) {
        env.tensors[op.getResult()] = env.tensors.find(op.getSrc())->second;
        return success();
      })
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

FailureOr<RankTensors> Interpreter::run(Block &block,
                                        const RankTensors &arguments) {
  std::vector<Environment> ranks(arguments.size());
  for (auto [env, tensors] : llvm::zip_equal(ranks, arguments))
    for (auto [argument, tensor] :
         llvm::zip_equal(block.getArguments(), tensors))
      env.tensors[argument] = tensor;
  for (Operation &op : block.without_terminator()) {
    if (failed(evaluate(&op, ranks)))
      return failure();
    // Free what is used for the last time here.
    for (Value operand : op.getOperands())
      if (llvm::all_of(operand.getUsers(), [&](Operation *user) {
            return user == &op || user->isBeforeInBlock(&op);
          }))
        for (Environment &env : ranks)
          env.tensors.erase(operand);
  }
  RankTensors results;
  for (Environment &env : ranks)
    results.push_back(llvm::map_to_vector(
        block.getTerminator()->getOperands(),
        [&](Value v) -> TensorPtr { return env.tensors.lookup(v); }));
  return results;
}

bool reference::hasEvaluator(StringRef operationName) {
  return evaluatorOf(operationName) != nullptr || isCollective(operationName);
}

static FailureOr<std::vector<SmallVector<Tensor>>>
copies(const FailureOr<RankTensors> &results) {
  if (failed(results))
    return failure();
  std::vector<SmallVector<Tensor>> all;
  for (const SmallVector<TensorPtr> &tensors : *results)
    all.push_back(llvm::map_to_vector(
        tensors, [](const TensorPtr &tensor) { return *tensor; }));
  return all;
}

static FailureOr<SmallVector<Tensor>>
copyOfOne(const FailureOr<RankTensors> &results) {
  FailureOr<std::vector<SmallVector<Tensor>>> all = copies(results);
  if (failed(all))
    return failure();
  return std::move(all->front());
}

/// The arguments of a rank, which have the types of the function.
static FailureOr<SmallVector<TensorPtr>>
shareArguments(func::FuncOp function, ArrayRef<Tensor> arguments) {
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
  return shared;
}

FailureOr<std::vector<SmallVector<Tensor>>>
reference::interpretRanks(func::FuncOp function,
                          ArrayRef<SmallVector<Tensor>> argumentsOfRanks,
                          WeightProvider weights) {
  RankTensors shared;
  for (const SmallVector<Tensor> &arguments : argumentsOfRanks) {
    FailureOr<SmallVector<TensorPtr>> one = shareArguments(function, arguments);
    if (failed(one))
      return failure();
    shared.push_back(std::move(*one));
  }
  return copies(
      Interpreter(std::move(weights)).run(function.getBody().front(), shared));
}

FailureOr<SmallVector<Tensor>> reference::interpret(func::FuncOp function,
                                                    ArrayRef<Tensor> arguments,
                                                    WeightProvider weights) {
  FailureOr<SmallVector<TensorPtr>> shared =
      shareArguments(function, arguments);
  if (failed(shared))
    return failure();
  return copyOfOne(Interpreter(std::move(weights))
                       .run(function.getBody().front(), {std::move(*shared)}));
}

FailureOr<SmallVector<Tensor>>
reference::interpret(Block &block, ArrayRef<Tensor> arguments) {
  return copyOfOne(
      Interpreter(nullptr).run(block, {llvm::map_to_vector(arguments, share)}));
}
