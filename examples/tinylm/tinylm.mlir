// tinylm: a byte-level Llama-style language model in base hk operators.
// Written by gen_mlir.py. The shape of every weight and every rounding point is
// that of config.py and reference.py; nothing here says what is fused.

hk.weight @embed "embed" : tensor<256x256xbf16>
hk.weight @layers.0.attn_norm "layers.0.attn_norm" : tensor<256xbf16>
hk.weight @layers.0.wqkv "layers.0.wqkv" : tensor<512x256xbf16>
hk.weight @layers.0.wo "layers.0.wo" : tensor<256x256xbf16>
hk.weight @layers.0.ffn_norm "layers.0.ffn_norm" : tensor<256xbf16>
hk.weight @layers.0.w_gate_up "layers.0.w_gate_up" : tensor<1408x256xbf16>
hk.weight @layers.0.w_down "layers.0.w_down" : tensor<256x704xbf16>
hk.weight @layers.1.attn_norm "layers.1.attn_norm" : tensor<256xbf16>
hk.weight @layers.1.wqkv "layers.1.wqkv" : tensor<512x256xbf16>
hk.weight @layers.1.wo "layers.1.wo" : tensor<256x256xbf16>
hk.weight @layers.1.ffn_norm "layers.1.ffn_norm" : tensor<256xbf16>
hk.weight @layers.1.w_gate_up "layers.1.w_gate_up" : tensor<1408x256xbf16>
hk.weight @layers.1.w_down "layers.1.w_down" : tensor<256x704xbf16>
hk.weight @layers.2.attn_norm "layers.2.attn_norm" : tensor<256xbf16>
hk.weight @layers.2.wqkv "layers.2.wqkv" : tensor<512x256xbf16>
hk.weight @layers.2.wo "layers.2.wo" : tensor<256x256xbf16>
hk.weight @layers.2.ffn_norm "layers.2.ffn_norm" : tensor<256xbf16>
hk.weight @layers.2.w_gate_up "layers.2.w_gate_up" : tensor<1408x256xbf16>
hk.weight @layers.2.w_down "layers.2.w_down" : tensor<256x704xbf16>
hk.weight @layers.3.attn_norm "layers.3.attn_norm" : tensor<256xbf16>
hk.weight @layers.3.wqkv "layers.3.wqkv" : tensor<512x256xbf16>
hk.weight @layers.3.wo "layers.3.wo" : tensor<256x256xbf16>
hk.weight @layers.3.ffn_norm "layers.3.ffn_norm" : tensor<256xbf16>
hk.weight @layers.3.w_gate_up "layers.3.w_gate_up" : tensor<1408x256xbf16>
hk.weight @layers.3.w_down "layers.3.w_down" : tensor<256x704xbf16>
hk.weight @layers.4.attn_norm "layers.4.attn_norm" : tensor<256xbf16>
hk.weight @layers.4.wqkv "layers.4.wqkv" : tensor<512x256xbf16>
hk.weight @layers.4.wo "layers.4.wo" : tensor<256x256xbf16>
hk.weight @layers.4.ffn_norm "layers.4.ffn_norm" : tensor<256xbf16>
hk.weight @layers.4.w_gate_up "layers.4.w_gate_up" : tensor<1408x256xbf16>
hk.weight @layers.4.w_down "layers.4.w_down" : tensor<256x704xbf16>
hk.weight @layers.5.attn_norm "layers.5.attn_norm" : tensor<256xbf16>
hk.weight @layers.5.wqkv "layers.5.wqkv" : tensor<512x256xbf16>
hk.weight @layers.5.wo "layers.5.wo" : tensor<256x256xbf16>
hk.weight @layers.5.ffn_norm "layers.5.ffn_norm" : tensor<256xbf16>
hk.weight @layers.5.w_gate_up "layers.5.w_gate_up" : tensor<1408x256xbf16>
hk.weight @layers.5.w_down "layers.5.w_down" : tensor<256x704xbf16>
hk.weight @norm "norm" : tensor<256xbf16>
hk.weight @head "head" : tensor<256x256xbf16>
hk.weight @rope.cos "rope.cos" : tensor<512x32xf32>
hk.weight @rope.sin "rope.sin" : tensor<512x32xf32>

func.func @prefill(
    %ids: tensor<?xi32>,
    %positions: tensor<?xi32>,
    %kv_len: tensor<1xi32>,
    %keys0: tensor<1x512x2x64xbf16> {hk.state},
    %keys1: tensor<1x512x2x64xbf16> {hk.state},
    %keys2: tensor<1x512x2x64xbf16> {hk.state},
    %keys3: tensor<1x512x2x64xbf16> {hk.state},
    %keys4: tensor<1x512x2x64xbf16> {hk.state},
    %keys5: tensor<1x512x2x64xbf16> {hk.state},
    %values0: tensor<1x512x2x64xbf16> {hk.state},
    %values1: tensor<1x512x2x64xbf16> {hk.state},
    %values2: tensor<1x512x2x64xbf16> {hk.state},
    %values3: tensor<1x512x2x64xbf16> {hk.state},
    %values4: tensor<1x512x2x64xbf16> {hk.state},
    %values5: tensor<1x512x2x64xbf16> {hk.state})
    -> (tensor<?x256xf32>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>) {
  %c0 = arith.constant 0 : index
  %tokens = tensor.dim %ids, %c0 : tensor<?xi32>
  %cos = hk.weight_ref @rope.cos : tensor<512x32xf32>
  %sin = hk.weight_ref @rope.sin : tensor<512x32xf32>
  %embed = hk.weight_ref @embed : tensor<256x256xbf16>
  %x = hk.gather_rows %embed, %ids : tensor<256x256xbf16>, tensor<?xi32> -> tensor<?x256xbf16>
  // Layer 0: attention.
  %l0_attn_norm = hk.weight_ref @layers.0.attn_norm : tensor<256xbf16>
  %l0_attn_in = hk.rms_norm %x, %l0_attn_norm epsilon 1.0e-05 : tensor<?x256xbf16>, tensor<256xbf16>
  %l0_wqkv = hk.weight_ref @layers.0.wqkv : tensor<512x256xbf16>
  %l0_qkv = hk.matmul %l0_attn_in, %l0_wqkv transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  %l0_heads = tensor.expand_shape %l0_qkv [[0], [1, 2]] output_shape [%tokens, 8, 64] : tensor<?x512xbf16> into tensor<?x8x64xbf16>
  %l0_q = tensor.extract_slice %l0_heads[0, 0, 0] [%tokens, 4, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x4x64xbf16>
  %l0_k = tensor.extract_slice %l0_heads[0, 4, 0] [%tokens, 2, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x2x64xbf16>
  %l0_v = tensor.extract_slice %l0_heads[0, 6, 0] [%tokens, 2, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x2x64xbf16>
  %l0_q_rotated = hk.rope neox %l0_q, %cos, %sin positions %positions : tensor<?x4x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  %l0_k_rotated = hk.rope neox %l0_k, %cos, %sin positions %positions : tensor<?x2x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  %l0_keys = hk.kv_cache_write %l0_k_rotated, %positions into %keys0 : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  %l0_values = hk.kv_cache_write %l0_v, %positions into %values0 : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  %l0_mixed = hk.attention %l0_q_rotated, %l0_keys, %l0_values kv_lens %kv_len scale 0.125 causal : tensor<?x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<?x4x64xbf16>
  %l0_flat = tensor.collapse_shape %l0_mixed [[0], [1, 2]] : tensor<?x4x64xbf16> into tensor<?x256xbf16>
  %l0_wo = hk.weight_ref @layers.0.wo : tensor<256x256xbf16>
  %l0_attn_out = hk.matmul %l0_flat, %l0_wo transpose_b : tensor<?x256xbf16>, tensor<256x256xbf16> -> tensor<?x256xbf16>
  %l0_mid = hk.add %x, %l0_attn_out : tensor<?x256xbf16>
  // Layer 0: feed forward.
  %l0_ffn_norm = hk.weight_ref @layers.0.ffn_norm : tensor<256xbf16>
  %l0_ffn_in = hk.rms_norm %l0_mid, %l0_ffn_norm epsilon 1.0e-05 : tensor<?x256xbf16>, tensor<256xbf16>
  %l0_w_gate_up = hk.weight_ref @layers.0.w_gate_up : tensor<1408x256xbf16>
  %l0_gate_up = hk.matmul %l0_ffn_in, %l0_w_gate_up transpose_b : tensor<?x256xbf16>, tensor<1408x256xbf16> -> tensor<?x1408xbf16>
  %l0_gated = hk.gated_activation silu %l0_gate_up : tensor<?x1408xbf16> -> tensor<?x704xbf16>
  %l0_w_down = hk.weight_ref @layers.0.w_down : tensor<256x704xbf16>
  %l0_down = hk.matmul %l0_gated, %l0_w_down transpose_b : tensor<?x704xbf16>, tensor<256x704xbf16> -> tensor<?x256xbf16>
  %l0_out = hk.add %l0_mid, %l0_down : tensor<?x256xbf16>
  // Layer 1: attention.
  %l1_attn_norm = hk.weight_ref @layers.1.attn_norm : tensor<256xbf16>
  %l1_attn_in = hk.rms_norm %l0_out, %l1_attn_norm epsilon 1.0e-05 : tensor<?x256xbf16>, tensor<256xbf16>
  %l1_wqkv = hk.weight_ref @layers.1.wqkv : tensor<512x256xbf16>
  %l1_qkv = hk.matmul %l1_attn_in, %l1_wqkv transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  %l1_heads = tensor.expand_shape %l1_qkv [[0], [1, 2]] output_shape [%tokens, 8, 64] : tensor<?x512xbf16> into tensor<?x8x64xbf16>
  %l1_q = tensor.extract_slice %l1_heads[0, 0, 0] [%tokens, 4, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x4x64xbf16>
  %l1_k = tensor.extract_slice %l1_heads[0, 4, 0] [%tokens, 2, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x2x64xbf16>
  %l1_v = tensor.extract_slice %l1_heads[0, 6, 0] [%tokens, 2, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x2x64xbf16>
  %l1_q_rotated = hk.rope neox %l1_q, %cos, %sin positions %positions : tensor<?x4x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  %l1_k_rotated = hk.rope neox %l1_k, %cos, %sin positions %positions : tensor<?x2x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  %l1_keys = hk.kv_cache_write %l1_k_rotated, %positions into %keys1 : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  %l1_values = hk.kv_cache_write %l1_v, %positions into %values1 : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  %l1_mixed = hk.attention %l1_q_rotated, %l1_keys, %l1_values kv_lens %kv_len scale 0.125 causal : tensor<?x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<?x4x64xbf16>
  %l1_flat = tensor.collapse_shape %l1_mixed [[0], [1, 2]] : tensor<?x4x64xbf16> into tensor<?x256xbf16>
  %l1_wo = hk.weight_ref @layers.1.wo : tensor<256x256xbf16>
  %l1_attn_out = hk.matmul %l1_flat, %l1_wo transpose_b : tensor<?x256xbf16>, tensor<256x256xbf16> -> tensor<?x256xbf16>
  %l1_mid = hk.add %l0_out, %l1_attn_out : tensor<?x256xbf16>
  // Layer 1: feed forward.
  %l1_ffn_norm = hk.weight_ref @layers.1.ffn_norm : tensor<256xbf16>
  %l1_ffn_in = hk.rms_norm %l1_mid, %l1_ffn_norm epsilon 1.0e-05 : tensor<?x256xbf16>, tensor<256xbf16>
  %l1_w_gate_up = hk.weight_ref @layers.1.w_gate_up : tensor<1408x256xbf16>
  %l1_gate_up = hk.matmul %l1_ffn_in, %l1_w_gate_up transpose_b : tensor<?x256xbf16>, tensor<1408x256xbf16> -> tensor<?x1408xbf16>
  %l1_gated = hk.gated_activation silu %l1_gate_up : tensor<?x1408xbf16> -> tensor<?x704xbf16>
  %l1_w_down = hk.weight_ref @layers.1.w_down : tensor<256x704xbf16>
  %l1_down = hk.matmul %l1_gated, %l1_w_down transpose_b : tensor<?x704xbf16>, tensor<256x704xbf16> -> tensor<?x256xbf16>
  %l1_out = hk.add %l1_mid, %l1_down : tensor<?x256xbf16>
  // Layer 2: attention.
  %l2_attn_norm = hk.weight_ref @layers.2.attn_norm : tensor<256xbf16>
  %l2_attn_in = hk.rms_norm %l1_out, %l2_attn_norm epsilon 1.0e-05 : tensor<?x256xbf16>, tensor<256xbf16>
  %l2_wqkv = hk.weight_ref @layers.2.wqkv : tensor<512x256xbf16>
  %l2_qkv = hk.matmul %l2_attn_in, %l2_wqkv transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  %l2_heads = tensor.expand_shape %l2_qkv [[0], [1, 2]] output_shape [%tokens, 8, 64] : tensor<?x512xbf16> into tensor<?x8x64xbf16>
  %l2_q = tensor.extract_slice %l2_heads[0, 0, 0] [%tokens, 4, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x4x64xbf16>
  %l2_k = tensor.extract_slice %l2_heads[0, 4, 0] [%tokens, 2, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x2x64xbf16>
  %l2_v = tensor.extract_slice %l2_heads[0, 6, 0] [%tokens, 2, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x2x64xbf16>
  %l2_q_rotated = hk.rope neox %l2_q, %cos, %sin positions %positions : tensor<?x4x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  %l2_k_rotated = hk.rope neox %l2_k, %cos, %sin positions %positions : tensor<?x2x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  %l2_keys = hk.kv_cache_write %l2_k_rotated, %positions into %keys2 : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  %l2_values = hk.kv_cache_write %l2_v, %positions into %values2 : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  %l2_mixed = hk.attention %l2_q_rotated, %l2_keys, %l2_values kv_lens %kv_len scale 0.125 causal : tensor<?x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<?x4x64xbf16>
  %l2_flat = tensor.collapse_shape %l2_mixed [[0], [1, 2]] : tensor<?x4x64xbf16> into tensor<?x256xbf16>
  %l2_wo = hk.weight_ref @layers.2.wo : tensor<256x256xbf16>
  %l2_attn_out = hk.matmul %l2_flat, %l2_wo transpose_b : tensor<?x256xbf16>, tensor<256x256xbf16> -> tensor<?x256xbf16>
  %l2_mid = hk.add %l1_out, %l2_attn_out : tensor<?x256xbf16>
  // Layer 2: feed forward.
  %l2_ffn_norm = hk.weight_ref @layers.2.ffn_norm : tensor<256xbf16>
  %l2_ffn_in = hk.rms_norm %l2_mid, %l2_ffn_norm epsilon 1.0e-05 : tensor<?x256xbf16>, tensor<256xbf16>
  %l2_w_gate_up = hk.weight_ref @layers.2.w_gate_up : tensor<1408x256xbf16>
  %l2_gate_up = hk.matmul %l2_ffn_in, %l2_w_gate_up transpose_b : tensor<?x256xbf16>, tensor<1408x256xbf16> -> tensor<?x1408xbf16>
  %l2_gated = hk.gated_activation silu %l2_gate_up : tensor<?x1408xbf16> -> tensor<?x704xbf16>
  %l2_w_down = hk.weight_ref @layers.2.w_down : tensor<256x704xbf16>
  %l2_down = hk.matmul %l2_gated, %l2_w_down transpose_b : tensor<?x704xbf16>, tensor<256x704xbf16> -> tensor<?x256xbf16>
  %l2_out = hk.add %l2_mid, %l2_down : tensor<?x256xbf16>
  // Layer 3: attention.
  %l3_attn_norm = hk.weight_ref @layers.3.attn_norm : tensor<256xbf16>
  %l3_attn_in = hk.rms_norm %l2_out, %l3_attn_norm epsilon 1.0e-05 : tensor<?x256xbf16>, tensor<256xbf16>
  %l3_wqkv = hk.weight_ref @layers.3.wqkv : tensor<512x256xbf16>
  %l3_qkv = hk.matmul %l3_attn_in, %l3_wqkv transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  %l3_heads = tensor.expand_shape %l3_qkv [[0], [1, 2]] output_shape [%tokens, 8, 64] : tensor<?x512xbf16> into tensor<?x8x64xbf16>
  %l3_q = tensor.extract_slice %l3_heads[0, 0, 0] [%tokens, 4, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x4x64xbf16>
  %l3_k = tensor.extract_slice %l3_heads[0, 4, 0] [%tokens, 2, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x2x64xbf16>
  %l3_v = tensor.extract_slice %l3_heads[0, 6, 0] [%tokens, 2, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x2x64xbf16>
  %l3_q_rotated = hk.rope neox %l3_q, %cos, %sin positions %positions : tensor<?x4x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  %l3_k_rotated = hk.rope neox %l3_k, %cos, %sin positions %positions : tensor<?x2x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  %l3_keys = hk.kv_cache_write %l3_k_rotated, %positions into %keys3 : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  %l3_values = hk.kv_cache_write %l3_v, %positions into %values3 : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  %l3_mixed = hk.attention %l3_q_rotated, %l3_keys, %l3_values kv_lens %kv_len scale 0.125 causal : tensor<?x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<?x4x64xbf16>
  %l3_flat = tensor.collapse_shape %l3_mixed [[0], [1, 2]] : tensor<?x4x64xbf16> into tensor<?x256xbf16>
  %l3_wo = hk.weight_ref @layers.3.wo : tensor<256x256xbf16>
  %l3_attn_out = hk.matmul %l3_flat, %l3_wo transpose_b : tensor<?x256xbf16>, tensor<256x256xbf16> -> tensor<?x256xbf16>
  %l3_mid = hk.add %l2_out, %l3_attn_out : tensor<?x256xbf16>
  // Layer 3: feed forward.
  %l3_ffn_norm = hk.weight_ref @layers.3.ffn_norm : tensor<256xbf16>
  %l3_ffn_in = hk.rms_norm %l3_mid, %l3_ffn_norm epsilon 1.0e-05 : tensor<?x256xbf16>, tensor<256xbf16>
  %l3_w_gate_up = hk.weight_ref @layers.3.w_gate_up : tensor<1408x256xbf16>
  %l3_gate_up = hk.matmul %l3_ffn_in, %l3_w_gate_up transpose_b : tensor<?x256xbf16>, tensor<1408x256xbf16> -> tensor<?x1408xbf16>
  %l3_gated = hk.gated_activation silu %l3_gate_up : tensor<?x1408xbf16> -> tensor<?x704xbf16>
  %l3_w_down = hk.weight_ref @layers.3.w_down : tensor<256x704xbf16>
  %l3_down = hk.matmul %l3_gated, %l3_w_down transpose_b : tensor<?x704xbf16>, tensor<256x704xbf16> -> tensor<?x256xbf16>
  %l3_out = hk.add %l3_mid, %l3_down : tensor<?x256xbf16>
  // Layer 4: attention.
  %l4_attn_norm = hk.weight_ref @layers.4.attn_norm : tensor<256xbf16>
  %l4_attn_in = hk.rms_norm %l3_out, %l4_attn_norm epsilon 1.0e-05 : tensor<?x256xbf16>, tensor<256xbf16>
  %l4_wqkv = hk.weight_ref @layers.4.wqkv : tensor<512x256xbf16>
  %l4_qkv = hk.matmul %l4_attn_in, %l4_wqkv transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  %l4_heads = tensor.expand_shape %l4_qkv [[0], [1, 2]] output_shape [%tokens, 8, 64] : tensor<?x512xbf16> into tensor<?x8x64xbf16>
  %l4_q = tensor.extract_slice %l4_heads[0, 0, 0] [%tokens, 4, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x4x64xbf16>
  %l4_k = tensor.extract_slice %l4_heads[0, 4, 0] [%tokens, 2, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x2x64xbf16>
  %l4_v = tensor.extract_slice %l4_heads[0, 6, 0] [%tokens, 2, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x2x64xbf16>
  %l4_q_rotated = hk.rope neox %l4_q, %cos, %sin positions %positions : tensor<?x4x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  %l4_k_rotated = hk.rope neox %l4_k, %cos, %sin positions %positions : tensor<?x2x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  %l4_keys = hk.kv_cache_write %l4_k_rotated, %positions into %keys4 : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  %l4_values = hk.kv_cache_write %l4_v, %positions into %values4 : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  %l4_mixed = hk.attention %l4_q_rotated, %l4_keys, %l4_values kv_lens %kv_len scale 0.125 causal : tensor<?x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<?x4x64xbf16>
  %l4_flat = tensor.collapse_shape %l4_mixed [[0], [1, 2]] : tensor<?x4x64xbf16> into tensor<?x256xbf16>
  %l4_wo = hk.weight_ref @layers.4.wo : tensor<256x256xbf16>
  %l4_attn_out = hk.matmul %l4_flat, %l4_wo transpose_b : tensor<?x256xbf16>, tensor<256x256xbf16> -> tensor<?x256xbf16>
  %l4_mid = hk.add %l3_out, %l4_attn_out : tensor<?x256xbf16>
  // Layer 4: feed forward.
  %l4_ffn_norm = hk.weight_ref @layers.4.ffn_norm : tensor<256xbf16>
  %l4_ffn_in = hk.rms_norm %l4_mid, %l4_ffn_norm epsilon 1.0e-05 : tensor<?x256xbf16>, tensor<256xbf16>
  %l4_w_gate_up = hk.weight_ref @layers.4.w_gate_up : tensor<1408x256xbf16>
  %l4_gate_up = hk.matmul %l4_ffn_in, %l4_w_gate_up transpose_b : tensor<?x256xbf16>, tensor<1408x256xbf16> -> tensor<?x1408xbf16>
  %l4_gated = hk.gated_activation silu %l4_gate_up : tensor<?x1408xbf16> -> tensor<?x704xbf16>
  %l4_w_down = hk.weight_ref @layers.4.w_down : tensor<256x704xbf16>
  %l4_down = hk.matmul %l4_gated, %l4_w_down transpose_b : tensor<?x704xbf16>, tensor<256x704xbf16> -> tensor<?x256xbf16>
  %l4_out = hk.add %l4_mid, %l4_down : tensor<?x256xbf16>
  // Layer 5: attention.
  %l5_attn_norm = hk.weight_ref @layers.5.attn_norm : tensor<256xbf16>
  %l5_attn_in = hk.rms_norm %l4_out, %l5_attn_norm epsilon 1.0e-05 : tensor<?x256xbf16>, tensor<256xbf16>
  %l5_wqkv = hk.weight_ref @layers.5.wqkv : tensor<512x256xbf16>
  %l5_qkv = hk.matmul %l5_attn_in, %l5_wqkv transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  %l5_heads = tensor.expand_shape %l5_qkv [[0], [1, 2]] output_shape [%tokens, 8, 64] : tensor<?x512xbf16> into tensor<?x8x64xbf16>
  %l5_q = tensor.extract_slice %l5_heads[0, 0, 0] [%tokens, 4, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x4x64xbf16>
  %l5_k = tensor.extract_slice %l5_heads[0, 4, 0] [%tokens, 2, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x2x64xbf16>
  %l5_v = tensor.extract_slice %l5_heads[0, 6, 0] [%tokens, 2, 64] [1, 1, 1] : tensor<?x8x64xbf16> to tensor<?x2x64xbf16>
  %l5_q_rotated = hk.rope neox %l5_q, %cos, %sin positions %positions : tensor<?x4x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  %l5_k_rotated = hk.rope neox %l5_k, %cos, %sin positions %positions : tensor<?x2x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  %l5_keys = hk.kv_cache_write %l5_k_rotated, %positions into %keys5 : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  %l5_values = hk.kv_cache_write %l5_v, %positions into %values5 : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  %l5_mixed = hk.attention %l5_q_rotated, %l5_keys, %l5_values kv_lens %kv_len scale 0.125 causal : tensor<?x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<?x4x64xbf16>
  %l5_flat = tensor.collapse_shape %l5_mixed [[0], [1, 2]] : tensor<?x4x64xbf16> into tensor<?x256xbf16>
  %l5_wo = hk.weight_ref @layers.5.wo : tensor<256x256xbf16>
  %l5_attn_out = hk.matmul %l5_flat, %l5_wo transpose_b : tensor<?x256xbf16>, tensor<256x256xbf16> -> tensor<?x256xbf16>
  %l5_mid = hk.add %l4_out, %l5_attn_out : tensor<?x256xbf16>
  // Layer 5: feed forward.
  %l5_ffn_norm = hk.weight_ref @layers.5.ffn_norm : tensor<256xbf16>
  %l5_ffn_in = hk.rms_norm %l5_mid, %l5_ffn_norm epsilon 1.0e-05 : tensor<?x256xbf16>, tensor<256xbf16>
  %l5_w_gate_up = hk.weight_ref @layers.5.w_gate_up : tensor<1408x256xbf16>
  %l5_gate_up = hk.matmul %l5_ffn_in, %l5_w_gate_up transpose_b : tensor<?x256xbf16>, tensor<1408x256xbf16> -> tensor<?x1408xbf16>
  %l5_gated = hk.gated_activation silu %l5_gate_up : tensor<?x1408xbf16> -> tensor<?x704xbf16>
  %l5_w_down = hk.weight_ref @layers.5.w_down : tensor<256x704xbf16>
  %l5_down = hk.matmul %l5_gated, %l5_w_down transpose_b : tensor<?x704xbf16>, tensor<256x704xbf16> -> tensor<?x256xbf16>
  %l5_out = hk.add %l5_mid, %l5_down : tensor<?x256xbf16>
  %norm = hk.weight_ref @norm : tensor<256xbf16>
  %normed = hk.rms_norm %l5_out, %norm epsilon 1.0e-05 : tensor<?x256xbf16>, tensor<256xbf16>
  %head = hk.weight_ref @head : tensor<256x256xbf16>
  %logits = hk.matmul %normed, %head transpose_b : tensor<?x256xbf16>, tensor<256x256xbf16> -> tensor<?x256xf32>
  return %logits,
    %l0_keys, %l1_keys, %l2_keys, %l3_keys, %l4_keys, %l5_keys, %l0_values, %l1_values, %l2_values, %l3_values, %l4_values, %l5_values
    : tensor<?x256xf32>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>
}

func.func @decode(
    %ids: tensor<1xi32>,
    %positions: tensor<1xi32>,
    %kv_len: tensor<1xi32>,
    %keys0: tensor<1x512x2x64xbf16> {hk.state},
    %keys1: tensor<1x512x2x64xbf16> {hk.state},
    %keys2: tensor<1x512x2x64xbf16> {hk.state},
    %keys3: tensor<1x512x2x64xbf16> {hk.state},
    %keys4: tensor<1x512x2x64xbf16> {hk.state},
    %keys5: tensor<1x512x2x64xbf16> {hk.state},
    %values0: tensor<1x512x2x64xbf16> {hk.state},
    %values1: tensor<1x512x2x64xbf16> {hk.state},
    %values2: tensor<1x512x2x64xbf16> {hk.state},
    %values3: tensor<1x512x2x64xbf16> {hk.state},
    %values4: tensor<1x512x2x64xbf16> {hk.state},
    %values5: tensor<1x512x2x64xbf16> {hk.state})
    -> (tensor<1x256xf32>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>,
       tensor<1x512x2x64xbf16>) {
  %cos = hk.weight_ref @rope.cos : tensor<512x32xf32>
  %sin = hk.weight_ref @rope.sin : tensor<512x32xf32>
  %embed = hk.weight_ref @embed : tensor<256x256xbf16>
  %x = hk.gather_rows %embed, %ids : tensor<256x256xbf16>, tensor<1xi32> -> tensor<1x256xbf16>
  // Layer 0: attention.
  %l0_attn_norm = hk.weight_ref @layers.0.attn_norm : tensor<256xbf16>
  %l0_attn_in = hk.rms_norm %x, %l0_attn_norm epsilon 1.0e-05 : tensor<1x256xbf16>, tensor<256xbf16>
  %l0_wqkv = hk.weight_ref @layers.0.wqkv : tensor<512x256xbf16>
  %l0_qkv = hk.matmul %l0_attn_in, %l0_wqkv transpose_b : tensor<1x256xbf16>, tensor<512x256xbf16> -> tensor<1x512xbf16>
  %l0_heads = tensor.expand_shape %l0_qkv [[0], [1, 2]] output_shape [1, 8, 64] : tensor<1x512xbf16> into tensor<1x8x64xbf16>
  %l0_q = tensor.extract_slice %l0_heads[0, 0, 0] [1, 4, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x4x64xbf16>
  %l0_k = tensor.extract_slice %l0_heads[0, 4, 0] [1, 2, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x2x64xbf16>
  %l0_v = tensor.extract_slice %l0_heads[0, 6, 0] [1, 2, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x2x64xbf16>
  %l0_q_rotated = hk.rope neox %l0_q, %cos, %sin positions %positions : tensor<1x4x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<1xi32>
  %l0_k_rotated = hk.rope neox %l0_k, %cos, %sin positions %positions : tensor<1x2x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<1xi32>
  %l0_keys = hk.kv_cache_write %l0_k_rotated, %positions into %keys0 : tensor<1x2x64xbf16>, tensor<1xi32>, tensor<1x512x2x64xbf16>
  %l0_values = hk.kv_cache_write %l0_v, %positions into %values0 : tensor<1x2x64xbf16>, tensor<1xi32>, tensor<1x512x2x64xbf16>
  %l0_mixed = hk.attention %l0_q_rotated, %l0_keys, %l0_values kv_lens %kv_len scale 0.125 causal : tensor<1x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<1x4x64xbf16>
  %l0_flat = tensor.collapse_shape %l0_mixed [[0], [1, 2]] : tensor<1x4x64xbf16> into tensor<1x256xbf16>
  %l0_wo = hk.weight_ref @layers.0.wo : tensor<256x256xbf16>
  %l0_attn_out = hk.matmul %l0_flat, %l0_wo transpose_b : tensor<1x256xbf16>, tensor<256x256xbf16> -> tensor<1x256xbf16>
  %l0_mid = hk.add %x, %l0_attn_out : tensor<1x256xbf16>
  // Layer 0: feed forward.
  %l0_ffn_norm = hk.weight_ref @layers.0.ffn_norm : tensor<256xbf16>
  %l0_ffn_in = hk.rms_norm %l0_mid, %l0_ffn_norm epsilon 1.0e-05 : tensor<1x256xbf16>, tensor<256xbf16>
  %l0_w_gate_up = hk.weight_ref @layers.0.w_gate_up : tensor<1408x256xbf16>
  %l0_gate_up = hk.matmul %l0_ffn_in, %l0_w_gate_up transpose_b : tensor<1x256xbf16>, tensor<1408x256xbf16> -> tensor<1x1408xbf16>
  %l0_gated = hk.gated_activation silu %l0_gate_up : tensor<1x1408xbf16> -> tensor<1x704xbf16>
  %l0_w_down = hk.weight_ref @layers.0.w_down : tensor<256x704xbf16>
  %l0_down = hk.matmul %l0_gated, %l0_w_down transpose_b : tensor<1x704xbf16>, tensor<256x704xbf16> -> tensor<1x256xbf16>
  %l0_out = hk.add %l0_mid, %l0_down : tensor<1x256xbf16>
  // Layer 1: attention.
  %l1_attn_norm = hk.weight_ref @layers.1.attn_norm : tensor<256xbf16>
  %l1_attn_in = hk.rms_norm %l0_out, %l1_attn_norm epsilon 1.0e-05 : tensor<1x256xbf16>, tensor<256xbf16>
  %l1_wqkv = hk.weight_ref @layers.1.wqkv : tensor<512x256xbf16>
  %l1_qkv = hk.matmul %l1_attn_in, %l1_wqkv transpose_b : tensor<1x256xbf16>, tensor<512x256xbf16> -> tensor<1x512xbf16>
  %l1_heads = tensor.expand_shape %l1_qkv [[0], [1, 2]] output_shape [1, 8, 64] : tensor<1x512xbf16> into tensor<1x8x64xbf16>
  %l1_q = tensor.extract_slice %l1_heads[0, 0, 0] [1, 4, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x4x64xbf16>
  %l1_k = tensor.extract_slice %l1_heads[0, 4, 0] [1, 2, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x2x64xbf16>
  %l1_v = tensor.extract_slice %l1_heads[0, 6, 0] [1, 2, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x2x64xbf16>
  %l1_q_rotated = hk.rope neox %l1_q, %cos, %sin positions %positions : tensor<1x4x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<1xi32>
  %l1_k_rotated = hk.rope neox %l1_k, %cos, %sin positions %positions : tensor<1x2x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<1xi32>
  %l1_keys = hk.kv_cache_write %l1_k_rotated, %positions into %keys1 : tensor<1x2x64xbf16>, tensor<1xi32>, tensor<1x512x2x64xbf16>
  %l1_values = hk.kv_cache_write %l1_v, %positions into %values1 : tensor<1x2x64xbf16>, tensor<1xi32>, tensor<1x512x2x64xbf16>
  %l1_mixed = hk.attention %l1_q_rotated, %l1_keys, %l1_values kv_lens %kv_len scale 0.125 causal : tensor<1x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<1x4x64xbf16>
  %l1_flat = tensor.collapse_shape %l1_mixed [[0], [1, 2]] : tensor<1x4x64xbf16> into tensor<1x256xbf16>
  %l1_wo = hk.weight_ref @layers.1.wo : tensor<256x256xbf16>
  %l1_attn_out = hk.matmul %l1_flat, %l1_wo transpose_b : tensor<1x256xbf16>, tensor<256x256xbf16> -> tensor<1x256xbf16>
  %l1_mid = hk.add %l0_out, %l1_attn_out : tensor<1x256xbf16>
  // Layer 1: feed forward.
  %l1_ffn_norm = hk.weight_ref @layers.1.ffn_norm : tensor<256xbf16>
  %l1_ffn_in = hk.rms_norm %l1_mid, %l1_ffn_norm epsilon 1.0e-05 : tensor<1x256xbf16>, tensor<256xbf16>
  %l1_w_gate_up = hk.weight_ref @layers.1.w_gate_up : tensor<1408x256xbf16>
  %l1_gate_up = hk.matmul %l1_ffn_in, %l1_w_gate_up transpose_b : tensor<1x256xbf16>, tensor<1408x256xbf16> -> tensor<1x1408xbf16>
  %l1_gated = hk.gated_activation silu %l1_gate_up : tensor<1x1408xbf16> -> tensor<1x704xbf16>
  %l1_w_down = hk.weight_ref @layers.1.w_down : tensor<256x704xbf16>
  %l1_down = hk.matmul %l1_gated, %l1_w_down transpose_b : tensor<1x704xbf16>, tensor<256x704xbf16> -> tensor<1x256xbf16>
  %l1_out = hk.add %l1_mid, %l1_down : tensor<1x256xbf16>
  // Layer 2: attention.
  %l2_attn_norm = hk.weight_ref @layers.2.attn_norm : tensor<256xbf16>
  %l2_attn_in = hk.rms_norm %l1_out, %l2_attn_norm epsilon 1.0e-05 : tensor<1x256xbf16>, tensor<256xbf16>
  %l2_wqkv = hk.weight_ref @layers.2.wqkv : tensor<512x256xbf16>
  %l2_qkv = hk.matmul %l2_attn_in, %l2_wqkv transpose_b : tensor<1x256xbf16>, tensor<512x256xbf16> -> tensor<1x512xbf16>
  %l2_heads = tensor.expand_shape %l2_qkv [[0], [1, 2]] output_shape [1, 8, 64] : tensor<1x512xbf16> into tensor<1x8x64xbf16>
  %l2_q = tensor.extract_slice %l2_heads[0, 0, 0] [1, 4, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x4x64xbf16>
  %l2_k = tensor.extract_slice %l2_heads[0, 4, 0] [1, 2, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x2x64xbf16>
  %l2_v = tensor.extract_slice %l2_heads[0, 6, 0] [1, 2, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x2x64xbf16>
  %l2_q_rotated = hk.rope neox %l2_q, %cos, %sin positions %positions : tensor<1x4x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<1xi32>
  %l2_k_rotated = hk.rope neox %l2_k, %cos, %sin positions %positions : tensor<1x2x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<1xi32>
  %l2_keys = hk.kv_cache_write %l2_k_rotated, %positions into %keys2 : tensor<1x2x64xbf16>, tensor<1xi32>, tensor<1x512x2x64xbf16>
  %l2_values = hk.kv_cache_write %l2_v, %positions into %values2 : tensor<1x2x64xbf16>, tensor<1xi32>, tensor<1x512x2x64xbf16>
  %l2_mixed = hk.attention %l2_q_rotated, %l2_keys, %l2_values kv_lens %kv_len scale 0.125 causal : tensor<1x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<1x4x64xbf16>
  %l2_flat = tensor.collapse_shape %l2_mixed [[0], [1, 2]] : tensor<1x4x64xbf16> into tensor<1x256xbf16>
  %l2_wo = hk.weight_ref @layers.2.wo : tensor<256x256xbf16>
  %l2_attn_out = hk.matmul %l2_flat, %l2_wo transpose_b : tensor<1x256xbf16>, tensor<256x256xbf16> -> tensor<1x256xbf16>
  %l2_mid = hk.add %l1_out, %l2_attn_out : tensor<1x256xbf16>
  // Layer 2: feed forward.
  %l2_ffn_norm = hk.weight_ref @layers.2.ffn_norm : tensor<256xbf16>
  %l2_ffn_in = hk.rms_norm %l2_mid, %l2_ffn_norm epsilon 1.0e-05 : tensor<1x256xbf16>, tensor<256xbf16>
  %l2_w_gate_up = hk.weight_ref @layers.2.w_gate_up : tensor<1408x256xbf16>
  %l2_gate_up = hk.matmul %l2_ffn_in, %l2_w_gate_up transpose_b : tensor<1x256xbf16>, tensor<1408x256xbf16> -> tensor<1x1408xbf16>
  %l2_gated = hk.gated_activation silu %l2_gate_up : tensor<1x1408xbf16> -> tensor<1x704xbf16>
  %l2_w_down = hk.weight_ref @layers.2.w_down : tensor<256x704xbf16>
  %l2_down = hk.matmul %l2_gated, %l2_w_down transpose_b : tensor<1x704xbf16>, tensor<256x704xbf16> -> tensor<1x256xbf16>
  %l2_out = hk.add %l2_mid, %l2_down : tensor<1x256xbf16>
  // Layer 3: attention.
  %l3_attn_norm = hk.weight_ref @layers.3.attn_norm : tensor<256xbf16>
  %l3_attn_in = hk.rms_norm %l2_out, %l3_attn_norm epsilon 1.0e-05 : tensor<1x256xbf16>, tensor<256xbf16>
  %l3_wqkv = hk.weight_ref @layers.3.wqkv : tensor<512x256xbf16>
  %l3_qkv = hk.matmul %l3_attn_in, %l3_wqkv transpose_b : tensor<1x256xbf16>, tensor<512x256xbf16> -> tensor<1x512xbf16>
  %l3_heads = tensor.expand_shape %l3_qkv [[0], [1, 2]] output_shape [1, 8, 64] : tensor<1x512xbf16> into tensor<1x8x64xbf16>
  %l3_q = tensor.extract_slice %l3_heads[0, 0, 0] [1, 4, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x4x64xbf16>
  %l3_k = tensor.extract_slice %l3_heads[0, 4, 0] [1, 2, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x2x64xbf16>
  %l3_v = tensor.extract_slice %l3_heads[0, 6, 0] [1, 2, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x2x64xbf16>
  %l3_q_rotated = hk.rope neox %l3_q, %cos, %sin positions %positions : tensor<1x4x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<1xi32>
  %l3_k_rotated = hk.rope neox %l3_k, %cos, %sin positions %positions : tensor<1x2x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<1xi32>
  %l3_keys = hk.kv_cache_write %l3_k_rotated, %positions into %keys3 : tensor<1x2x64xbf16>, tensor<1xi32>, tensor<1x512x2x64xbf16>
  %l3_values = hk.kv_cache_write %l3_v, %positions into %values3 : tensor<1x2x64xbf16>, tensor<1xi32>, tensor<1x512x2x64xbf16>
  %l3_mixed = hk.attention %l3_q_rotated, %l3_keys, %l3_values kv_lens %kv_len scale 0.125 causal : tensor<1x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<1x4x64xbf16>
  %l3_flat = tensor.collapse_shape %l3_mixed [[0], [1, 2]] : tensor<1x4x64xbf16> into tensor<1x256xbf16>
  %l3_wo = hk.weight_ref @layers.3.wo : tensor<256x256xbf16>
  %l3_attn_out = hk.matmul %l3_flat, %l3_wo transpose_b : tensor<1x256xbf16>, tensor<256x256xbf16> -> tensor<1x256xbf16>
  %l3_mid = hk.add %l2_out, %l3_attn_out : tensor<1x256xbf16>
  // Layer 3: feed forward.
  %l3_ffn_norm = hk.weight_ref @layers.3.ffn_norm : tensor<256xbf16>
  %l3_ffn_in = hk.rms_norm %l3_mid, %l3_ffn_norm epsilon 1.0e-05 : tensor<1x256xbf16>, tensor<256xbf16>
  %l3_w_gate_up = hk.weight_ref @layers.3.w_gate_up : tensor<1408x256xbf16>
  %l3_gate_up = hk.matmul %l3_ffn_in, %l3_w_gate_up transpose_b : tensor<1x256xbf16>, tensor<1408x256xbf16> -> tensor<1x1408xbf16>
  %l3_gated = hk.gated_activation silu %l3_gate_up : tensor<1x1408xbf16> -> tensor<1x704xbf16>
  %l3_w_down = hk.weight_ref @layers.3.w_down : tensor<256x704xbf16>
  %l3_down = hk.matmul %l3_gated, %l3_w_down transpose_b : tensor<1x704xbf16>, tensor<256x704xbf16> -> tensor<1x256xbf16>
  %l3_out = hk.add %l3_mid, %l3_down : tensor<1x256xbf16>
  // Layer 4: attention.
  %l4_attn_norm = hk.weight_ref @layers.4.attn_norm : tensor<256xbf16>
  %l4_attn_in = hk.rms_norm %l3_out, %l4_attn_norm epsilon 1.0e-05 : tensor<1x256xbf16>, tensor<256xbf16>
  %l4_wqkv = hk.weight_ref @layers.4.wqkv : tensor<512x256xbf16>
  %l4_qkv = hk.matmul %l4_attn_in, %l4_wqkv transpose_b : tensor<1x256xbf16>, tensor<512x256xbf16> -> tensor<1x512xbf16>
  %l4_heads = tensor.expand_shape %l4_qkv [[0], [1, 2]] output_shape [1, 8, 64] : tensor<1x512xbf16> into tensor<1x8x64xbf16>
  %l4_q = tensor.extract_slice %l4_heads[0, 0, 0] [1, 4, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x4x64xbf16>
  %l4_k = tensor.extract_slice %l4_heads[0, 4, 0] [1, 2, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x2x64xbf16>
  %l4_v = tensor.extract_slice %l4_heads[0, 6, 0] [1, 2, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x2x64xbf16>
  %l4_q_rotated = hk.rope neox %l4_q, %cos, %sin positions %positions : tensor<1x4x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<1xi32>
  %l4_k_rotated = hk.rope neox %l4_k, %cos, %sin positions %positions : tensor<1x2x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<1xi32>
  %l4_keys = hk.kv_cache_write %l4_k_rotated, %positions into %keys4 : tensor<1x2x64xbf16>, tensor<1xi32>, tensor<1x512x2x64xbf16>
  %l4_values = hk.kv_cache_write %l4_v, %positions into %values4 : tensor<1x2x64xbf16>, tensor<1xi32>, tensor<1x512x2x64xbf16>
  %l4_mixed = hk.attention %l4_q_rotated, %l4_keys, %l4_values kv_lens %kv_len scale 0.125 causal : tensor<1x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<1x4x64xbf16>
  %l4_flat = tensor.collapse_shape %l4_mixed [[0], [1, 2]] : tensor<1x4x64xbf16> into tensor<1x256xbf16>
  %l4_wo = hk.weight_ref @layers.4.wo : tensor<256x256xbf16>
  %l4_attn_out = hk.matmul %l4_flat, %l4_wo transpose_b : tensor<1x256xbf16>, tensor<256x256xbf16> -> tensor<1x256xbf16>
  %l4_mid = hk.add %l3_out, %l4_attn_out : tensor<1x256xbf16>
  // Layer 4: feed forward.
  %l4_ffn_norm = hk.weight_ref @layers.4.ffn_norm : tensor<256xbf16>
  %l4_ffn_in = hk.rms_norm %l4_mid, %l4_ffn_norm epsilon 1.0e-05 : tensor<1x256xbf16>, tensor<256xbf16>
  %l4_w_gate_up = hk.weight_ref @layers.4.w_gate_up : tensor<1408x256xbf16>
  %l4_gate_up = hk.matmul %l4_ffn_in, %l4_w_gate_up transpose_b : tensor<1x256xbf16>, tensor<1408x256xbf16> -> tensor<1x1408xbf16>
  %l4_gated = hk.gated_activation silu %l4_gate_up : tensor<1x1408xbf16> -> tensor<1x704xbf16>
  %l4_w_down = hk.weight_ref @layers.4.w_down : tensor<256x704xbf16>
  %l4_down = hk.matmul %l4_gated, %l4_w_down transpose_b : tensor<1x704xbf16>, tensor<256x704xbf16> -> tensor<1x256xbf16>
  %l4_out = hk.add %l4_mid, %l4_down : tensor<1x256xbf16>
  // Layer 5: attention.
  %l5_attn_norm = hk.weight_ref @layers.5.attn_norm : tensor<256xbf16>
  %l5_attn_in = hk.rms_norm %l4_out, %l5_attn_norm epsilon 1.0e-05 : tensor<1x256xbf16>, tensor<256xbf16>
  %l5_wqkv = hk.weight_ref @layers.5.wqkv : tensor<512x256xbf16>
  %l5_qkv = hk.matmul %l5_attn_in, %l5_wqkv transpose_b : tensor<1x256xbf16>, tensor<512x256xbf16> -> tensor<1x512xbf16>
  %l5_heads = tensor.expand_shape %l5_qkv [[0], [1, 2]] output_shape [1, 8, 64] : tensor<1x512xbf16> into tensor<1x8x64xbf16>
  %l5_q = tensor.extract_slice %l5_heads[0, 0, 0] [1, 4, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x4x64xbf16>
  %l5_k = tensor.extract_slice %l5_heads[0, 4, 0] [1, 2, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x2x64xbf16>
  %l5_v = tensor.extract_slice %l5_heads[0, 6, 0] [1, 2, 64] [1, 1, 1] : tensor<1x8x64xbf16> to tensor<1x2x64xbf16>
  %l5_q_rotated = hk.rope neox %l5_q, %cos, %sin positions %positions : tensor<1x4x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<1xi32>
  %l5_k_rotated = hk.rope neox %l5_k, %cos, %sin positions %positions : tensor<1x2x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<1xi32>
  %l5_keys = hk.kv_cache_write %l5_k_rotated, %positions into %keys5 : tensor<1x2x64xbf16>, tensor<1xi32>, tensor<1x512x2x64xbf16>
  %l5_values = hk.kv_cache_write %l5_v, %positions into %values5 : tensor<1x2x64xbf16>, tensor<1xi32>, tensor<1x512x2x64xbf16>
  %l5_mixed = hk.attention %l5_q_rotated, %l5_keys, %l5_values kv_lens %kv_len scale 0.125 causal : tensor<1x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<1x4x64xbf16>
  %l5_flat = tensor.collapse_shape %l5_mixed [[0], [1, 2]] : tensor<1x4x64xbf16> into tensor<1x256xbf16>
  %l5_wo = hk.weight_ref @layers.5.wo : tensor<256x256xbf16>
  %l5_attn_out = hk.matmul %l5_flat, %l5_wo transpose_b : tensor<1x256xbf16>, tensor<256x256xbf16> -> tensor<1x256xbf16>
  %l5_mid = hk.add %l4_out, %l5_attn_out : tensor<1x256xbf16>
  // Layer 5: feed forward.
  %l5_ffn_norm = hk.weight_ref @layers.5.ffn_norm : tensor<256xbf16>
  %l5_ffn_in = hk.rms_norm %l5_mid, %l5_ffn_norm epsilon 1.0e-05 : tensor<1x256xbf16>, tensor<256xbf16>
  %l5_w_gate_up = hk.weight_ref @layers.5.w_gate_up : tensor<1408x256xbf16>
  %l5_gate_up = hk.matmul %l5_ffn_in, %l5_w_gate_up transpose_b : tensor<1x256xbf16>, tensor<1408x256xbf16> -> tensor<1x1408xbf16>
  %l5_gated = hk.gated_activation silu %l5_gate_up : tensor<1x1408xbf16> -> tensor<1x704xbf16>
  %l5_w_down = hk.weight_ref @layers.5.w_down : tensor<256x704xbf16>
  %l5_down = hk.matmul %l5_gated, %l5_w_down transpose_b : tensor<1x704xbf16>, tensor<256x704xbf16> -> tensor<1x256xbf16>
  %l5_out = hk.add %l5_mid, %l5_down : tensor<1x256xbf16>
  %norm = hk.weight_ref @norm : tensor<256xbf16>
  %normed = hk.rms_norm %l5_out, %norm epsilon 1.0e-05 : tensor<1x256xbf16>, tensor<256xbf16>
  %head = hk.weight_ref @head : tensor<256x256xbf16>
  %logits = hk.matmul %normed, %head transpose_b : tensor<1x256xbf16>, tensor<256x256xbf16> -> tensor<1x256xf32>
  return %logits,
    %l0_keys, %l1_keys, %l2_keys, %l3_keys, %l4_keys, %l5_keys, %l0_values, %l1_values, %l2_values, %l3_values, %l4_values, %l5_values
    : tensor<1x256xf32>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>,
      tensor<1x512x2x64xbf16>
}
