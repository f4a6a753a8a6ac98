// Gradients by the warp-specialised loop of sm_90a. The host's kernels are checked here
// with the same calls; benchmarks/gpu/attention.py makes them on a GPU. Numbers of
// queries and keys are no multiples of a tile, sequences are empty, there are more
// queries than keys, some gradients are not wanted.
// RUN: hk-compile %s -o %t.so --target=host
// RUN: hk-run %t.so --check=%s --function=causal --dim=q.1=200 --dim=do.1=200 --dim=k.1=333 --dim=v.1=333
// RUN: hk-run %t.so --check=%s --function=causal --dim=q.1=300 --dim=do.1=300 --dim=k.1=150 --dim=v.1=150
// RUN: hk-run %t.so --check=%s --function=causal --dim=q.1=64 --dim=do.1=64 --dim=k.1=1 --dim=v.1=1
// RUN: hk-run %t.so --check=%s --function=causal --dim=q.1=129 --dim=do.1=129 --dim=k.1=161 --dim=v.1=161
// RUN: hk-run %t.so --check=%s --function=causal --dim=q.1=70 --dim=do.1=70 --dim=k.1=0 --dim=v.1=0
// RUN: hk-run %t.so --check=%s --function=causal --dim=q.1=0 --dim=do.1=0 --dim=k.1=9 --dim=v.1=9
// RUN: hk-run %t.so --check=%s --function=full64 --dim=q.1=130 --dim=do.1=130 --dim=k.1=321 --dim=v.1=321
// RUN: hk-run %t.so --check=%s --function=windows80 --dim=q.1=260 --dim=do.1=260 --dim=k.1=170 --dim=v.1=170
// RUN: hk-run %t.so --check=%s --function=windows80 --dim=q.1=65 --dim=do.1=65 --dim=k.1=64 --dim=v.1=64
// RUN: hk-run %t.so --check=%s --function=one --dim=q.0=300 --dim=do.0=300 --dim=k.0=257 --dim=v.0=257
// RUN: hk-run %t.so --check=%s --function=one --dim=q.0=64 --dim=do.0=64 --dim=k.0=200 --dim=v.0=200
// RUN: hk-run %t.so --check=%s --function=ragged --dim=q.0=500 --dim=do.0=500 --dim=k.0=700 --dim=v.0=700 --dim=qo.0=6 --dim=ko.0=6
// RUN: hk-run %t.so --check=%s --function=ragged --dim=q.0=300 --dim=do.0=300 --dim=k.0=128 --dim=v.0=128 --dim=qo.0=4 --dim=ko.0=4
// RUN: hk-run %t.so --check=%s --function=ragged --dim=q.0=900 --dim=do.0=900 --dim=k.0=333 --dim=v.0=333 --dim=qo.0=3 --dim=ko.0=3
// RUN: hk-run %t.so --check=%s --function=queries_only --dim=q.1=150 --dim=do.1=150 --dim=k.1=130 --dim=v.1=130
// RUN: hk-run %t.so --check=%s --function=keys_only --dim=q.1=150 --dim=do.1=150 --dim=k.1=130 --dim=v.1=130
// RUN: hk-run %t.so --check=%s --function=cap --dim=q.1=200 --dim=do.1=200 --dim=k.1=333 --dim=v.1=333
// RUN: hk-run %t.so --check=%s --function=cap --dim=q.1=130 --dim=do.1=130 --dim=k.1=70 --dim=v.1=70
// RUN: hk-run %t.so --check=%s --function=cap_ragged --dim=q.0=300 --dim=do.0=300 --dim=k.0=400 --dim=v.0=400 --dim=qo.0=4 --dim=ko.0=4
// RUN: hk-run %t.so --check=%s --function=wide --dim=q.1=161 --dim=do.1=161 --dim=k.1=129 --dim=v.1=129
// RUN: hk-run %t.so --check=%s --function=wide --dim=q.1=64 --dim=do.1=64 --dim=k.1=250 --dim=v.1=250
// RUN: hk-run %t.so --check=%s --function=wide_ragged --dim=q.0=260 --dim=do.0=260 --dim=k.0=300 --dim=v.0=300 --dim=qo.0=3 --dim=ko.0=3
// Scores far below zero, and keys that end inside a tile: rows behind them must
// not take part in the sums of a query's gradient.
// RUN: hk-run %t.so --check=%s --function=low --data=equal

func.func @low(%q: tensor<1x256x2x128xbf16>, %k: tensor<1x321x2x128xbf16>, %v: tensor<1x321x2x128xbf16>, %do: tensor<1x256x2x128xbf16>) -> (tensor<1x256x2x128xbf16>, tensor<1x321x2x128xbf16>, tensor<1x321x2x128xbf16>) {
  %o, %lse = hk.attention %q, %k, %v scale -1.0 : tensor<1x256x2x128xbf16>, tensor<1x321x2x128xbf16>, tensor<1x321x2x128xbf16> -> tensor<1x256x2x128xbf16>, tensor<1x256x2xf32>
  %of = hk.cast %o : tensor<1x256x2x128xbf16> -> tensor<1x256x2x128xf32>
  %df = hk.cast %do : tensor<1x256x2x128xbf16> -> tensor<1x256x2x128xf32>
  %m = hk.mul %of, %df : tensor<1x256x2x128xf32>
  %r = hk.reduce sum %m : tensor<1x256x2x128xf32> -> tensor<1x256x2x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<1x256x2x1xf32> into tensor<1x256x2xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale -1.0 : tensor<1x256x2x128xbf16>, tensor<1x321x2x128xbf16>, tensor<1x321x2x128xbf16>, tensor<1x256x2x128xbf16>, tensor<1x256x2xf32> -> tensor<1x256x2x128xbf16>, tensor<1x321x2x128xbf16>, tensor<1x321x2x128xbf16>
  return %dq, %dk, %dv : tensor<1x256x2x128xbf16>, tensor<1x321x2x128xbf16>, tensor<1x321x2x128xbf16>
}
func.func @causal(%q: tensor<2x?x4x128xbf16>, %k: tensor<2x?x2x128xbf16>, %v: tensor<2x?x2x128xbf16>, %do: tensor<2x?x4x128xbf16>) -> (tensor<2x?x4x128xbf16>, tensor<2x?x2x128xbf16>, tensor<2x?x2x128xbf16>) {
  %o, %lse = hk.attention %q, %k, %v scale 0.0884 causal : tensor<2x?x4x128xbf16>, tensor<2x?x2x128xbf16>, tensor<2x?x2x128xbf16> -> tensor<2x?x4x128xbf16>, tensor<2x?x4xf32>
  %of = hk.cast %o : tensor<2x?x4x128xbf16> -> tensor<2x?x4x128xf32>
  %df = hk.cast %do : tensor<2x?x4x128xbf16> -> tensor<2x?x4x128xf32>
  %m = hk.mul %of, %df : tensor<2x?x4x128xf32>
  %r = hk.reduce sum %m : tensor<2x?x4x128xf32> -> tensor<2x?x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x?x4x1xf32> into tensor<2x?x4xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.0884 causal : tensor<2x?x4x128xbf16>, tensor<2x?x2x128xbf16>, tensor<2x?x2x128xbf16>, tensor<2x?x4x128xbf16>, tensor<2x?x4xf32> -> tensor<2x?x4x128xbf16>, tensor<2x?x2x128xbf16>, tensor<2x?x2x128xbf16>
  return %dq, %dk, %dv : tensor<2x?x4x128xbf16>, tensor<2x?x2x128xbf16>, tensor<2x?x2x128xbf16>
}
func.func @full64(%q: tensor<2x?x3x64xf16>, %k: tensor<2x?x3x64xf16>, %v: tensor<2x?x3x64xf16>, %do: tensor<2x?x3x64xf16>) -> (tensor<2x?x3x64xf16>, tensor<2x?x3x64xf16>, tensor<2x?x3x64xf16>) {
  %o, %lse = hk.attention %q, %k, %v scale 0.125 : tensor<2x?x3x64xf16>, tensor<2x?x3x64xf16>, tensor<2x?x3x64xf16> -> tensor<2x?x3x64xf16>, tensor<2x?x3xf32>
  %of = hk.cast %o : tensor<2x?x3x64xf16> -> tensor<2x?x3x64xf32>
  %df = hk.cast %do : tensor<2x?x3x64xf16> -> tensor<2x?x3x64xf32>
  %m = hk.mul %of, %df : tensor<2x?x3x64xf32>
  %r = hk.reduce sum %m : tensor<2x?x3x64xf32> -> tensor<2x?x3x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x?x3x1xf32> into tensor<2x?x3xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.125 : tensor<2x?x3x64xf16>, tensor<2x?x3x64xf16>, tensor<2x?x3x64xf16>, tensor<2x?x3x64xf16>, tensor<2x?x3xf32> -> tensor<2x?x3x64xf16>, tensor<2x?x3x64xf16>, tensor<2x?x3x64xf16>
  return %dq, %dk, %dv : tensor<2x?x3x64xf16>, tensor<2x?x3x64xf16>, tensor<2x?x3x64xf16>
}
// Head sizes between the panels of 64 columns.
func.func @windows80(%q: tensor<1x?x4x80xbf16>, %k: tensor<1x?x2x80xbf16>, %v: tensor<1x?x2x72xbf16>, %do: tensor<1x?x4x72xbf16>) -> (tensor<1x?x4x80xbf16>, tensor<1x?x2x80xbf16>, tensor<1x?x2x72xbf16>) {
  %o, %lse = hk.attention %q, %k, %v scale 0.112 window_left 100 window_right 20 : tensor<1x?x4x80xbf16>, tensor<1x?x2x80xbf16>, tensor<1x?x2x72xbf16> -> tensor<1x?x4x72xbf16>, tensor<1x?x4xf32>
  %of = hk.cast %o : tensor<1x?x4x72xbf16> -> tensor<1x?x4x72xf32>
  %df = hk.cast %do : tensor<1x?x4x72xbf16> -> tensor<1x?x4x72xf32>
  %m = hk.mul %of, %df : tensor<1x?x4x72xf32>
  %r = hk.reduce sum %m : tensor<1x?x4x72xf32> -> tensor<1x?x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<1x?x4x1xf32> into tensor<1x?x4xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.112 window_left 100 window_right 20 : tensor<1x?x4x80xbf16>, tensor<1x?x2x80xbf16>, tensor<1x?x2x72xbf16>, tensor<1x?x4x72xbf16>, tensor<1x?x4xf32> -> tensor<1x?x4x80xbf16>, tensor<1x?x2x80xbf16>, tensor<1x?x2x72xbf16>
  return %dq, %dk, %dv : tensor<1x?x4x80xbf16>, tensor<1x?x2x80xbf16>, tensor<1x?x2x72xbf16>
}
func.func @one(%q: tensor<?x2x128xf16>, %k: tensor<?x1x128xf16>, %v: tensor<?x1x128xf16>, %do: tensor<?x2x128xf16>) -> (tensor<?x2x128xf16>, tensor<?x1x128xf16>, tensor<?x1x128xf16>) {
  %o, %lse = hk.attention %q, %k, %v scale 0.0884 causal window_left 90 : tensor<?x2x128xf16>, tensor<?x1x128xf16>, tensor<?x1x128xf16> -> tensor<?x2x128xf16>, tensor<?x2xf32>
  %of = hk.cast %o : tensor<?x2x128xf16> -> tensor<?x2x128xf32>
  %df = hk.cast %do : tensor<?x2x128xf16> -> tensor<?x2x128xf32>
  %m = hk.mul %of, %df : tensor<?x2x128xf32>
  %r = hk.reduce sum %m : tensor<?x2x128xf32> -> tensor<?x2x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1, 2]] : tensor<?x2x1xf32> into tensor<?x2xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.0884 causal window_left 90 : tensor<?x2x128xf16>, tensor<?x1x128xf16>, tensor<?x1x128xf16>, tensor<?x2x128xf16>, tensor<?x2xf32> -> tensor<?x2x128xf16>, tensor<?x1x128xf16>, tensor<?x1x128xf16>
  return %dq, %dk, %dv : tensor<?x2x128xf16>, tensor<?x1x128xf16>, tensor<?x1x128xf16>
}
func.func @ragged(%q: tensor<?x4x128xbf16>, %k: tensor<?x2x128xbf16>, %v: tensor<?x2x128xbf16>, %do: tensor<?x4x128xbf16>, %qo: tensor<?xi32>, %ko: tensor<?xi32>, %s: tensor<4xf32>) -> (tensor<?x4x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<4xf32>) {
  %o, %lse = hk.attention %q, %k, %v q_offsets %qo kv_offsets %ko sink %s scale 0.0884 causal : tensor<?x4x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> sink tensor<4xf32> -> tensor<?x4x128xbf16>, tensor<?x4xf32>
  %of = hk.cast %o : tensor<?x4x128xbf16> -> tensor<?x4x128xf32>
  %df = hk.cast %do : tensor<?x4x128xbf16> -> tensor<?x4x128xf32>
  %m = hk.mul %of, %df : tensor<?x4x128xf32>
  %r = hk.reduce sum %m : tensor<?x4x128xf32> -> tensor<?x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1, 2]] : tensor<?x4x1xf32> into tensor<?x4xf32>
  %dq, %dk, %dv, %ds = hk.attention_backward %q, %k, %v, %do, %lse, %delta q_offsets %qo kv_offsets %ko sink %s scale 0.0884 causal : tensor<?x4x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?x4x128xbf16>, tensor<?x4xf32> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> sink tensor<4xf32> -> tensor<?x4x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<4xf32>
  return %dq, %dk, %dv, %ds : tensor<?x4x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<4xf32>
}
func.func @queries_only(%q: tensor<2x?x2x128xbf16>, %k: tensor<2x?x1x128xbf16>, %v: tensor<2x?x1x64xbf16>, %do: tensor<2x?x2x64xbf16>) -> (tensor<2x?x2x128xbf16>) {
  %o, %lse = hk.attention %q, %k, %v scale 0.0884 causal : tensor<2x?x2x128xbf16>, tensor<2x?x1x128xbf16>, tensor<2x?x1x64xbf16> -> tensor<2x?x2x64xbf16>, tensor<2x?x2xf32>
  %of = hk.cast %o : tensor<2x?x2x64xbf16> -> tensor<2x?x2x64xf32>
  %df = hk.cast %do : tensor<2x?x2x64xbf16> -> tensor<2x?x2x64xf32>
  %m = hk.mul %of, %df : tensor<2x?x2x64xf32>
  %r = hk.reduce sum %m : tensor<2x?x2x64xf32> -> tensor<2x?x2x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x?x2x1xf32> into tensor<2x?x2xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.0884 causal : tensor<2x?x2x128xbf16>, tensor<2x?x1x128xbf16>, tensor<2x?x1x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2xf32> -> tensor<2x?x2x128xbf16>, tensor<2x?x1x128xbf16>, tensor<2x?x1x64xbf16>
  return %dq : tensor<2x?x2x128xbf16>
}
func.func @keys_only(%q: tensor<2x?x4x64xbf16>, %k: tensor<2x?x1x64xbf16>, %v: tensor<2x?x1x128xbf16>, %do: tensor<2x?x4x128xbf16>) -> (tensor<2x?x1x64xbf16>, tensor<2x?x1x128xbf16>) {
  %o, %lse = hk.attention %q, %k, %v scale 0.0884 causal : tensor<2x?x4x64xbf16>, tensor<2x?x1x64xbf16>, tensor<2x?x1x128xbf16> -> tensor<2x?x4x128xbf16>, tensor<2x?x4xf32>
  %of = hk.cast %o : tensor<2x?x4x128xbf16> -> tensor<2x?x4x128xf32>
  %df = hk.cast %do : tensor<2x?x4x128xbf16> -> tensor<2x?x4x128xf32>
  %m = hk.mul %of, %df : tensor<2x?x4x128xf32>
  %r = hk.reduce sum %m : tensor<2x?x4x128xf32> -> tensor<2x?x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x?x4x1xf32> into tensor<2x?x4xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.0884 causal : tensor<2x?x4x64xbf16>, tensor<2x?x1x64xbf16>, tensor<2x?x1x128xbf16>, tensor<2x?x4x128xbf16>, tensor<2x?x4xf32> -> tensor<2x?x4x64xbf16>, tensor<2x?x1x64xbf16>, tensor<2x?x1x128xbf16>
  return %dk, %dv : tensor<2x?x1x64xbf16>, tensor<2x?x1x128xbf16>
}
// Soft caps; more columns than 128 of one operand, in tiles of fewer rows.
func.func @cap(%q: tensor<2x?x4x128xbf16>, %k: tensor<2x?x2x128xbf16>, %v: tensor<2x?x2x128xbf16>, %do: tensor<2x?x4x128xbf16>) -> (tensor<2x?x4x128xbf16>, tensor<2x?x2x128xbf16>, tensor<2x?x2x128xbf16>) {
  %o, %lse = hk.attention %q, %k, %v scale 0.0884 causal softcap 2.0 : tensor<2x?x4x128xbf16>, tensor<2x?x2x128xbf16>, tensor<2x?x2x128xbf16> -> tensor<2x?x4x128xbf16>, tensor<2x?x4xf32>
  %of = hk.cast %o : tensor<2x?x4x128xbf16> -> tensor<2x?x4x128xf32>
  %df = hk.cast %do : tensor<2x?x4x128xbf16> -> tensor<2x?x4x128xf32>
  %m = hk.mul %of, %df : tensor<2x?x4x128xf32>
  %r = hk.reduce sum %m : tensor<2x?x4x128xf32> -> tensor<2x?x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x?x4x1xf32> into tensor<2x?x4xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.0884 causal softcap 2.0 : tensor<2x?x4x128xbf16>, tensor<2x?x2x128xbf16>, tensor<2x?x2x128xbf16>, tensor<2x?x4x128xbf16>, tensor<2x?x4xf32> -> tensor<2x?x4x128xbf16>, tensor<2x?x2x128xbf16>, tensor<2x?x2x128xbf16>
  return %dq, %dk, %dv : tensor<2x?x4x128xbf16>, tensor<2x?x2x128xbf16>, tensor<2x?x2x128xbf16>
}
func.func @cap_ragged(%q: tensor<?x4x64xf16>, %k: tensor<?x1x64xf16>, %v: tensor<?x1x64xf16>, %do: tensor<?x4x64xf16>, %qo: tensor<?xi32>, %ko: tensor<?xi32>) -> (tensor<?x4x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16>) {
  %o, %lse = hk.attention %q, %k, %v q_offsets %qo kv_offsets %ko scale 0.125 window_left 60 softcap 5.0 : tensor<?x4x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x4x64xf16>, tensor<?x4xf32>
  %of = hk.cast %o : tensor<?x4x64xf16> -> tensor<?x4x64xf32>
  %df = hk.cast %do : tensor<?x4x64xf16> -> tensor<?x4x64xf32>
  %m = hk.mul %of, %df : tensor<?x4x64xf32>
  %r = hk.reduce sum %m : tensor<?x4x64xf32> -> tensor<?x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1, 2]] : tensor<?x4x1xf32> into tensor<?x4xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta q_offsets %qo kv_offsets %ko scale 0.125 window_left 60 softcap 5.0 : tensor<?x4x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16>, tensor<?x4x64xf16>, tensor<?x4xf32> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x4x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16>
  return %dq, %dk, %dv : tensor<?x4x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16>
}
func.func @wide(%q: tensor<2x?x4x192xbf16>, %k: tensor<2x?x2x192xbf16>, %v: tensor<2x?x2x128xbf16>, %do: tensor<2x?x4x128xbf16>) -> (tensor<2x?x4x192xbf16>, tensor<2x?x2x192xbf16>, tensor<2x?x2x128xbf16>) {
  %o, %lse = hk.attention %q, %k, %v scale 0.0722 causal : tensor<2x?x4x192xbf16>, tensor<2x?x2x192xbf16>, tensor<2x?x2x128xbf16> -> tensor<2x?x4x128xbf16>, tensor<2x?x4xf32>
  %of = hk.cast %o : tensor<2x?x4x128xbf16> -> tensor<2x?x4x128xf32>
  %df = hk.cast %do : tensor<2x?x4x128xbf16> -> tensor<2x?x4x128xf32>
  %m = hk.mul %of, %df : tensor<2x?x4x128xf32>
  %r = hk.reduce sum %m : tensor<2x?x4x128xf32> -> tensor<2x?x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x?x4x1xf32> into tensor<2x?x4xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.0722 causal : tensor<2x?x4x192xbf16>, tensor<2x?x2x192xbf16>, tensor<2x?x2x128xbf16>, tensor<2x?x4x128xbf16>, tensor<2x?x4xf32> -> tensor<2x?x4x192xbf16>, tensor<2x?x2x192xbf16>, tensor<2x?x2x128xbf16>
  return %dq, %dk, %dv : tensor<2x?x4x192xbf16>, tensor<2x?x2x192xbf16>, tensor<2x?x2x128xbf16>
}
func.func @wide_ragged(%q: tensor<?x2x128xbf16>, %k: tensor<?x1x128xbf16>, %v: tensor<?x1x192xbf16>, %do: tensor<?x2x192xbf16>, %qo: tensor<?xi32>, %ko: tensor<?xi32>) -> (tensor<?x2x128xbf16>, tensor<?x1x128xbf16>, tensor<?x1x192xbf16>) {
  %o, %lse = hk.attention %q, %k, %v q_offsets %qo kv_offsets %ko scale 0.0884 window_left 70 window_right 30 softcap 3.0 : tensor<?x2x128xbf16>, tensor<?x1x128xbf16>, tensor<?x1x192xbf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x2x192xbf16>, tensor<?x2xf32>
  %of = hk.cast %o : tensor<?x2x192xbf16> -> tensor<?x2x192xf32>
  %df = hk.cast %do : tensor<?x2x192xbf16> -> tensor<?x2x192xf32>
  %m = hk.mul %of, %df : tensor<?x2x192xf32>
  %r = hk.reduce sum %m : tensor<?x2x192xf32> -> tensor<?x2x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1, 2]] : tensor<?x2x1xf32> into tensor<?x2xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta q_offsets %qo kv_offsets %ko scale 0.0884 window_left 70 window_right 30 softcap 3.0 : tensor<?x2x128xbf16>, tensor<?x1x128xbf16>, tensor<?x1x192xbf16>, tensor<?x2x192xbf16>, tensor<?x2xf32> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x2x128xbf16>, tensor<?x1x128xbf16>, tensor<?x1x192xbf16>
  return %dq, %dk, %dv : tensor<?x2x128xbf16>, tensor<?x1x128xbf16>, tensor<?x1x192xbf16>
}
