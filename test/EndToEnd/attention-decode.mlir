// Decode steps whose lengths only a call knows: on GPUs their keys are dealt out in equal
// runs. The host's kernels are checked here with the same calls; benchmarks/gpu/attention.py
// makes them on a GPU. Lengths are 0 and small beside large; of keys and values only one
// has 8 bits.
// RUN: hk-compile %s -o %t.so --target=host
// RUN: hk-run %t.so --check=%s --function=dense --dim=q.0=5 --dim=k.0=5 --dim=v.0=5 --dim=n.0=5 --range=n=0:2048
// RUN: hk-run %t.so --check=%s --function=dense --dim=q.0=1 --dim=k.0=1 --dim=v.0=1 --dim=n.0=1 --range=n=2048:2049
// RUN: hk-run %t.so --check=%s --function=dense --dim=q.0=3 --dim=k.0=3 --dim=v.0=3 --dim=n.0=3 --range=n=0:2
// RUN: hk-run %t.so --check=%s --function=dense --dim=q.0=0 --dim=k.0=0 --dim=v.0=0 --dim=n.0=0
// RUN: hk-run %t.so --check=%s --function=paged --dim=q.0=7 --dim=n.0=7 --dim=t.0=7 --range=n=0:3000 --range=t=0:199
// RUN: hk-run %t.so --check=%s --function=paged --dim=q.0=2 --dim=n.0=2 --dim=t.0=2 --range=n=1000:3000 --range=t=-1:199
// RUN: hk-run %t.so --check=%s --function=keys8 --dim=q.0=4 --dim=n.0=4 --dim=t.0=4 --range=n=0:3000 --range=t=0:199
// RUN: hk-run %t.so --check=%s --function=values8 --dim=q.0=4 --dim=n.0=4 --dim=t.0=4 --range=n=0:3000 --range=t=0:199
// RUN: hk-run %t.so --check=%s --function=both8 --dim=q.0=4 --dim=n.0=4 --dim=t.0=4 --range=n=0:3000 --range=t=0:199
// RUN: hk-run %t.so --check=%s --function=few

func.func @dense(%q: tensor<?x1x8x128xbf16>, %k: tensor<?x2048x2x128xbf16>, %v: tensor<?x2048x2x128xbf16>, %n: tensor<?xi32>) -> tensor<?x1x8x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n scale 0.0884 : tensor<?x1x8x128xbf16>, tensor<?x2048x2x128xbf16>, tensor<?x2048x2x128xbf16> kv_lens tensor<?xi32> -> tensor<?x1x8x128xbf16>
  return %0 : tensor<?x1x8x128xbf16>
}
func.func @paged(%q: tensor<?x1x8x128xbf16>, %k: tensor<200x16x2x128xbf16>, %v: tensor<200x16x2x128xbf16>, %n: tensor<?xi32>, %t: tensor<?x188xi32>) -> tensor<?x1x8x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.0884 : tensor<?x1x8x128xbf16>, tensor<200x16x2x128xbf16>, tensor<200x16x2x128xbf16> kv_lens tensor<?xi32> block_table tensor<?x188xi32> -> tensor<?x1x8x128xbf16>
  return %0 : tensor<?x1x8x128xbf16>
}
func.func @keys8(%q: tensor<?x1x8x128xbf16>, %k: tensor<200x16x2x128xf8E4M3FN>, %v: tensor<200x16x2x128xbf16>, %n: tensor<?xi32>, %t: tensor<?x188xi32>, %s: tensor<f32>) -> tensor<?x1x8x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t k_scale %s scale 0.0884 : tensor<?x1x8x128xbf16>, tensor<200x16x2x128xf8E4M3FN>, tensor<200x16x2x128xbf16> kv_lens tensor<?xi32> block_table tensor<?x188xi32> k_scale tensor<f32> -> tensor<?x1x8x128xbf16>
  return %0 : tensor<?x1x8x128xbf16>
}
func.func @values8(%q: tensor<?x1x8x128xbf16>, %k: tensor<200x16x2x128xbf16>, %v: tensor<200x16x2x128xi8>, %n: tensor<?xi32>, %t: tensor<?x188xi32>, %s: tensor<f32>) -> tensor<?x1x8x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t v_scale %s scale 0.0884 : tensor<?x1x8x128xbf16>, tensor<200x16x2x128xbf16>, tensor<200x16x2x128xi8> kv_lens tensor<?xi32> block_table tensor<?x188xi32> v_scale tensor<f32> -> tensor<?x1x8x128xbf16>
  return %0 : tensor<?x1x8x128xbf16>
}
func.func @both8(%q: tensor<?x1x8x128xbf16>, %k: tensor<200x16x2x128xi8>, %v: tensor<200x16x2x128xf8E4M3FN>, %n: tensor<?xi32>, %t: tensor<?x188xi32>, %s: tensor<f32>) -> tensor<?x1x8x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t k_scale %s v_scale %s scale 0.0884 : tensor<?x1x8x128xbf16>, tensor<200x16x2x128xi8>, tensor<200x16x2x128xf8E4M3FN> kv_lens tensor<?xi32> block_table tensor<?x188xi32> k_scale tensor<f32> v_scale tensor<f32> -> tensor<?x1x8x128xbf16>
  return %0 : tensor<?x1x8x128xbf16>
}
// All lengths are the same: equal slices.
func.func @few(%q: tensor<2x1x8x128xbf16>, %k: tensor<2x3000x2x128xbf16>, %v: tensor<2x3000x2x128xf8E4M3FN>) -> tensor<2x1x8x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.0884 : tensor<2x1x8x128xbf16>, tensor<2x3000x2x128xbf16>, tensor<2x3000x2x128xf8E4M3FN> -> tensor<2x1x8x128xbf16>
  return %0 : tensor<2x1x8x128xbf16>
}
