// A gated delta rule layer and a gated attention layer of Qwen3-Next, each with its
// experts, in base hk operators. Written by gen_mlir.py; reference.py says the same in
// NumPy. Nothing here says what is fused.

hk.weight @delta.norm "delta.norm" : tensor<64xbf16>
hk.weight @delta.qkvz "delta.qkvz" : tensor<768x64xbf16>
hk.weight @delta.ba "delta.ba" : tensor<8x64xbf16>
hk.weight @delta.conv "delta.conv" : tensor<512x4xbf16>
hk.weight @delta.a_log "delta.a_log" : tensor<4xf32>
hk.weight @delta.dt_bias "delta.dt_bias" : tensor<4xf32>
hk.weight @delta.gated_norm "delta.gated_norm" : tensor<64xbf16>
hk.weight @delta.out "delta.out" : tensor<64x256xbf16>
hk.weight @attn.norm "attn.norm" : tensor<64xbf16>
hk.weight @attn.q "attn.q" : tensor<256x64xbf16>
hk.weight @attn.k "attn.k" : tensor<64x64xbf16>
hk.weight @attn.v "attn.v" : tensor<64x64xbf16>
hk.weight @attn.q_norm "attn.q_norm" : tensor<32xbf16>
hk.weight @attn.k_norm "attn.k_norm" : tensor<32xbf16>
hk.weight @attn.out "attn.out" : tensor<64x128xbf16>
hk.weight @rope.cos "rope.cos" : tensor<160x4xf32>
hk.weight @rope.sin "rope.sin" : tensor<160x4xf32>
hk.weight @delta.moe.norm "delta.moe.norm" : tensor<64xbf16>
hk.weight @delta.moe.router "delta.moe.router" : tensor<8x64xbf16>
hk.weight @delta.moe.gate_up "delta.moe.gate_up" : tensor<8x64x64xbf16>
hk.weight @delta.moe.down "delta.moe.down" : tensor<8x64x32xbf16>
hk.weight @delta.moe.shared_gate_up "delta.moe.shared_gate_up" : tensor<64x64xbf16>
hk.weight @delta.moe.shared_down "delta.moe.shared_down" : tensor<64x32xbf16>
hk.weight @delta.moe.shared_gate "delta.moe.shared_gate" : tensor<1x64xbf16>
hk.weight @attn.moe.norm "attn.moe.norm" : tensor<64xbf16>
hk.weight @attn.moe.router "attn.moe.router" : tensor<8x64xbf16>
hk.weight @attn.moe.gate_up "attn.moe.gate_up" : tensor<8x64x64xbf16>
hk.weight @attn.moe.down "attn.moe.down" : tensor<8x64x32xbf16>
hk.weight @attn.moe.shared_gate_up "attn.moe.shared_gate_up" : tensor<64x64xbf16>
hk.weight @attn.moe.shared_down "attn.moe.shared_down" : tensor<64x32xbf16>
hk.weight @attn.moe.shared_gate "attn.moe.shared_gate" : tensor<1x64xbf16>

func.func @decode(
    %x: tensor<?x64xbf16> {hk.name = "x", hk.dims = ["N", "_"]},
    %positions: tensor<?xi32> {hk.name = "positions", hk.dims = ["N"]},
    %slots: tensor<?xi32> {hk.name = "slots", hk.dims = ["N"]},
    %kv_len: tensor<?xi32> {hk.name = "kv_len", hk.dims = ["N"]},
    %lines: tensor<?xi32> {hk.name = "lines", hk.dims = ["N"]},
    %conv0: tensor<4x3x512xbf16> {hk.name = "conv", hk.state},
    %delta0: tensor<4x4x64x64xf32> {hk.name = "delta", hk.state},
    %keys0: tensor<?x160x2x32xbf16> {hk.name = "keys", hk.dims = ["N", "_", "_", "_"], hk.state},
    %values0: tensor<?x160x2x32xbf16> {hk.name = "values", hk.dims = ["N", "_", "_", "_"], hk.state})
    -> (tensor<?x64xbf16> {hk.name = "y"}, tensor<4x3x512xbf16>, tensor<4x4x64x64xf32>, tensor<?x160x2x32xbf16>, tensor<?x160x2x32xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xbf16>
  // The gated delta rule.
  %w_delta_norm = hk.weight_ref @delta.norm : tensor<64xbf16>
  %delta_in = hk.rms_norm %x, %w_delta_norm epsilon 1.0e-06 weight_offset 1.0 : tensor<?x64xbf16>, tensor<64xbf16>
  %w_delta_qkvz = hk.weight_ref @delta.qkvz : tensor<768x64xbf16>
  %qkvz = hk.matmul %delta_in, %w_delta_qkvz transpose_b : tensor<?x64xbf16>, tensor<768x64xbf16> -> tensor<?x768xbf16>
  %w_delta_ba = hk.weight_ref @delta.ba : tensor<8x64xbf16>
  %ba = hk.matmul %delta_in, %w_delta_ba transpose_b : tensor<?x64xbf16>, tensor<8x64xbf16> -> tensor<?x8xbf16>
  %grouped = tensor.expand_shape %qkvz [[0], [1, 2]] output_shape [%n, 2, 384] : tensor<?x768xbf16> into tensor<?x2x384xbf16>
  %q_g = tensor.extract_slice %grouped[0, 0, 0] [%n, 2, 64] [1, 1, 1] : tensor<?x2x384xbf16> to tensor<?x2x64xbf16>
  %q_c = tensor.collapse_shape %q_g [[0], [1, 2]] : tensor<?x2x64xbf16> into tensor<?x128xbf16>
  %k_g = tensor.extract_slice %grouped[0, 0, 64] [%n, 2, 64] [1, 1, 1] : tensor<?x2x384xbf16> to tensor<?x2x64xbf16>
  %k_c = tensor.collapse_shape %k_g [[0], [1, 2]] : tensor<?x2x64xbf16> into tensor<?x128xbf16>
  %v_g = tensor.extract_slice %grouped[0, 0, 128] [%n, 2, 128] [1, 1, 1] : tensor<?x2x384xbf16> to tensor<?x2x128xbf16>
  %v_c = tensor.collapse_shape %v_g [[0], [1, 2]] : tensor<?x2x128xbf16> into tensor<?x256xbf16>
  %z_g = tensor.extract_slice %grouped[0, 0, 256] [%n, 2, 128] [1, 1, 1] : tensor<?x2x384xbf16> to tensor<?x2x128xbf16>
  %z_c = tensor.collapse_shape %z_g [[0], [1, 2]] : tensor<?x2x128xbf16> into tensor<?x256xbf16>
  %mixed = hk.concat 1 (%q_c, %k_c, %v_c) : tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<?x256xbf16> -> tensor<?x512xbf16>
  %z = tensor.expand_shape %z_c [[0], [1, 2]] output_shape [%n, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  %ba_g = tensor.expand_shape %ba [[0], [1, 2]] output_shape [%n, 2, 4] : tensor<?x8xbf16> into tensor<?x2x4xbf16>
  %b_g = tensor.extract_slice %ba_g[0, 0, 0] [%n, 2, 2] [1, 1, 1] : tensor<?x2x4xbf16> to tensor<?x2x2xbf16>
  %b_c = tensor.collapse_shape %b_g [[0], [1, 2]] : tensor<?x2x2xbf16> into tensor<?x4xbf16>
  %b = tensor.expand_shape %b_c [[0, 1], [2]] output_shape [%n, 1, 4] : tensor<?x4xbf16> into tensor<?x1x4xbf16>
  %a_g = tensor.extract_slice %ba_g[0, 0, 2] [%n, 2, 2] [1, 1, 1] : tensor<?x2x4xbf16> to tensor<?x2x2xbf16>
  %a_c = tensor.collapse_shape %a_g [[0], [1, 2]] : tensor<?x2x2xbf16> into tensor<?x4xbf16>
  %a = tensor.expand_shape %a_c [[0, 1], [2]] output_shape [%n, 1, 4] : tensor<?x4xbf16> into tensor<?x1x4xbf16>
  %w_delta_dt_bias = hk.weight_ref @delta.dt_bias : tensor<4xf32>
  %w_delta_a_log = hk.weight_ref @delta.a_log : tensor<4xf32>
  %rate = hk.exp %w_delta_a_log : tensor<4xf32>
  %minus = hk.neg %rate : tensor<4xf32>
  %shifted = hk.add %a, %w_delta_dt_bias : tensor<?x1x4xbf16>, tensor<4xf32> -> tensor<?x1x4xf32>
  %soft = hk.softplus %shifted : tensor<?x1x4xf32>
  %g = hk.mul %minus, %soft : tensor<4xf32>, tensor<?x1x4xf32> -> tensor<?x1x4xf32>
  %beta = hk.sigmoid %b : tensor<?x1x4xbf16> -> tensor<?x1x4xf32>
  %mixed3 = tensor.expand_shape %mixed [[0, 1], [2]] output_shape [%n, 1, 512] : tensor<?x512xbf16> into tensor<?x1x512xbf16>
  %w_delta_conv = hk.weight_ref @delta.conv : tensor<512x4xbf16>
  %conv, %conv1 = hk.causal_conv1d channel_last %mixed3, %w_delta_conv state %conv0 indices %lines : tensor<?x1x512xbf16>, tensor<512x4xbf16> state tensor<4x3x512xbf16> indices tensor<?xi32> -> tensor<?x1x512xf32>, tensor<4x3x512xbf16>
  %qkv = hk.silu %conv : tensor<?x1x512xf32> -> tensor<?x1x512xbf16>
  %q_s = tensor.extract_slice %qkv[0, 0, 0] [%n, 1, 128] [1, 1, 1] : tensor<?x1x512xbf16> to tensor<?x1x128xbf16>
  %q = tensor.expand_shape %q_s [[0], [1], [2, 3]] output_shape [%n, 1, 2, 64] : tensor<?x1x128xbf16> into tensor<?x1x2x64xbf16>
  %k_s = tensor.extract_slice %qkv[0, 0, 128] [%n, 1, 128] [1, 1, 1] : tensor<?x1x512xbf16> to tensor<?x1x128xbf16>
  %k = tensor.expand_shape %k_s [[0], [1], [2, 3]] output_shape [%n, 1, 2, 64] : tensor<?x1x128xbf16> into tensor<?x1x2x64xbf16>
  %v_s = tensor.extract_slice %qkv[0, 0, 256] [%n, 1, 256] [1, 1, 1] : tensor<?x1x512xbf16> to tensor<?x1x256xbf16>
  %v = tensor.expand_shape %v_s [[0], [1], [2, 3]] output_shape [%n, 1, 4, 64] : tensor<?x1x256xbf16> into tensor<?x1x4x64xbf16>
  %o, %delta1 = hk.gated_delta_rule %q, %k, %v decay %g beta %beta state %delta0 indices %lines l2norm 1.0e-06 : tensor<?x1x2x64xbf16>, tensor<?x1x2x64xbf16>, tensor<?x1x4x64xbf16> decay tensor<?x1x4xf32> beta tensor<?x1x4xf32> state tensor<4x4x64x64xf32> indices tensor<?xi32> -> tensor<?x1x4x64xbf16>, tensor<4x4x64x64xf32>
  %o_rows = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<?x1x4x64xbf16> into tensor<?x4x64xbf16>
  %w_delta_gated_norm = hk.weight_ref @delta.gated_norm : tensor<64xbf16>
  %normed = hk.rms_norm %o_rows, %w_delta_gated_norm epsilon 1.0e-06 : tensor<?x4x64xbf16>, tensor<64xbf16> -> tensor<?x4x64xf32>
  %gate = hk.silu %z : tensor<?x4x64xbf16> -> tensor<?x4x64xf32>
  %gated = hk.mul %normed, %gate : tensor<?x4x64xf32> -> tensor<?x4x64xbf16>
  %gated_row = tensor.collapse_shape %gated [[0], [1, 2]] : tensor<?x4x64xbf16> into tensor<?x256xbf16>
  %w_delta_out = hk.weight_ref @delta.out : tensor<64x256xbf16>
  %delta_out = hk.matmul %gated_row, %w_delta_out transpose_b : tensor<?x256xbf16>, tensor<64x256xbf16> -> tensor<?x64xbf16>
  %delta_x = hk.add %x, %delta_out : tensor<?x64xbf16>
  // delta: experts.
  %w_delta_moe_norm = hk.weight_ref @delta.moe.norm : tensor<64xbf16>
  %delta_moe_in = hk.rms_norm %delta_x, %w_delta_moe_norm epsilon 1.0e-06 weight_offset 1.0 : tensor<?x64xbf16>, tensor<64xbf16>
  %w_delta_moe_router = hk.weight_ref @delta.moe.router : tensor<8x64xbf16>
  %delta_moe_logits = hk.matmul %delta_moe_in, %w_delta_moe_router transpose_b : tensor<?x64xbf16>, tensor<8x64xbf16> -> tensor<?x8xf32>
  %delta_moe_best, %delta_moe_ids = hk.topk %delta_moe_logits : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %delta_moe_weights = hk.softmax %delta_moe_best : tensor<?x2xf32>
  %delta_moe_keys = tensor.collapse_shape %delta_moe_ids [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %delta_moe_counts = hk.histogram %delta_moe_keys : tensor<?xi32> -> tensor<8xi32>
  %delta_moe_order, %delta_moe_place = hk.sort_by_key %delta_moe_keys bins 8 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %delta_moe_bounds = hk.cumsum offsets %delta_moe_counts : tensor<8xi32> -> tensor<9xi32>
  %w_delta_moe_gate_up = hk.weight_ref @delta.moe.gate_up : tensor<8x64x64xbf16>
  %w_delta_moe_down = hk.weight_ref @delta.moe.down : tensor<8x64x32xbf16>
  %delta_moe_up = hk.grouped_matmul %delta_moe_in, %w_delta_moe_gate_up bounds %delta_moe_bounds order %delta_moe_order transpose_b top_k 2 : tensor<?x64xbf16>, tensor<8x64x64xbf16> groups tensor<9xi32> order tensor<?xi32> -> tensor<?x64xbf16>
  %delta_moe_act = hk.gated_activation silu %delta_moe_up : tensor<?x64xbf16> -> tensor<?x32xbf16>
  %delta_moe_down = hk.grouped_matmul %delta_moe_act, %w_delta_moe_down bounds %delta_moe_bounds transpose_b : tensor<?x32xbf16>, tensor<8x64x32xbf16> groups tensor<9xi32> -> tensor<?x64xf32>
  %delta_moe_flat = tensor.collapse_shape %delta_moe_weights [[0, 1]] : tensor<?x2xf32> into tensor<?xf32>
  %delta_moe_sorted = hk.gather_rows %delta_moe_flat, %delta_moe_order : tensor<?xf32>, tensor<?xi32> -> tensor<?xf32>
  %delta_moe_n = tensor.dim %delta_moe_flat, %c0 : tensor<?xf32>
  %delta_moe_column = tensor.expand_shape %delta_moe_sorted [[0, 1]] output_shape [%delta_moe_n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %delta_moe_scaled = hk.mul %delta_moe_down, %delta_moe_column : tensor<?x64xf32>, tensor<?x1xf32>
  %delta_moe_back = hk.gather_rows %delta_moe_scaled, %delta_moe_place : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  %delta_moe_slots = tensor.expand_shape %delta_moe_back [[0, 1], [2]] output_shape [%n, 2, 64] : tensor<?x64xf32> into tensor<?x2x64xf32>
  %delta_moe_turned = hk.transpose %delta_moe_slots [1, 0, 2] : tensor<?x2x64xf32> -> tensor<2x?x64xf32>
  %delta_moe_routed = hk.sum_slices %delta_moe_turned : tensor<2x?x64xf32> -> tensor<?x64xf32>
  %w_delta_moe_shared_gate_up = hk.weight_ref @delta.moe.shared_gate_up : tensor<64x64xbf16>
  %delta_moe_sup = hk.matmul %delta_moe_in, %w_delta_moe_shared_gate_up transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %delta_moe_sact = hk.gated_activation silu %delta_moe_sup : tensor<?x64xbf16> -> tensor<?x32xbf16>
  %w_delta_moe_shared_down = hk.weight_ref @delta.moe.shared_down : tensor<64x32xbf16>
  %delta_moe_sdown = hk.matmul %delta_moe_sact, %w_delta_moe_shared_down transpose_b : tensor<?x32xbf16>, tensor<64x32xbf16> -> tensor<?x64xf32>
  %w_delta_moe_shared_gate = hk.weight_ref @delta.moe.shared_gate : tensor<1x64xbf16>
  %delta_moe_sgate = hk.matmul %delta_moe_in, %w_delta_moe_shared_gate transpose_b : tensor<?x64xbf16>, tensor<1x64xbf16> -> tensor<?x1xf32>
  %delta_moe_open = hk.sigmoid %delta_moe_sgate : tensor<?x1xf32>
  %delta_moe_shared = hk.mul %delta_moe_sdown, %delta_moe_open : tensor<?x64xf32>, tensor<?x1xf32>
  %delta_moe_both = hk.add %delta_moe_routed, %delta_moe_shared : tensor<?x64xf32>
  %delta_moe_out = hk.add %delta_x, %delta_moe_both : tensor<?x64xbf16>, tensor<?x64xf32> -> tensor<?x64xbf16>
  // Gated attention.
  %w_attn_norm = hk.weight_ref @attn.norm : tensor<64xbf16>
  %attn_in = hk.rms_norm %delta_moe_out, %w_attn_norm epsilon 1.0e-06 weight_offset 1.0 : tensor<?x64xbf16>, tensor<64xbf16>
  %w_attn_q = hk.weight_ref @attn.q : tensor<256x64xbf16>
  %qg = hk.matmul %attn_in, %w_attn_q transpose_b : tensor<?x64xbf16>, tensor<256x64xbf16> -> tensor<?x256xbf16>
  %w_attn_k = hk.weight_ref @attn.k : tensor<64x64xbf16>
  %ak = hk.matmul %attn_in, %w_attn_k transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %w_attn_v = hk.weight_ref @attn.v : tensor<64x64xbf16>
  %av = hk.matmul %attn_in, %w_attn_v transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %qg_h = tensor.expand_shape %qg [[0], [1, 2]] output_shape [%n, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  %aq_h = tensor.extract_slice %qg_h[0, 0, 0] [%n, 4, 32] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x32xbf16>
  %open_h = tensor.extract_slice %qg_h[0, 0, 32] [%n, 4, 32] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x32xbf16>
  %ak_h = tensor.expand_shape %ak [[0], [1, 2]] output_shape [%n, 2, 32] : tensor<?x64xbf16> into tensor<?x2x32xbf16>
  %av_h = tensor.expand_shape %av [[0], [1, 2]] output_shape [%n, 2, 32] : tensor<?x64xbf16> into tensor<?x2x32xbf16>
  %w_rope_cos = hk.weight_ref @rope.cos : tensor<160x4xf32>
  %w_rope_sin = hk.weight_ref @rope.sin : tensor<160x4xf32>
  %w_attn_q_norm = hk.weight_ref @attn.q_norm : tensor<32xbf16>
  %aq_n = hk.rms_norm %aq_h, %w_attn_q_norm epsilon 1.0e-06 weight_offset 1.0 : tensor<?x4x32xbf16>, tensor<32xbf16>
  %aq_r = hk.rope neox %aq_n, %w_rope_cos, %w_rope_sin positions %positions : tensor<?x4x32xbf16>, tensor<160x4xf32>, tensor<160x4xf32> positions tensor<?xi32>
  %w_attn_k_norm = hk.weight_ref @attn.k_norm : tensor<32xbf16>
  %ak_n = hk.rms_norm %ak_h, %w_attn_k_norm epsilon 1.0e-06 weight_offset 1.0 : tensor<?x2x32xbf16>, tensor<32xbf16>
  %ak_r = hk.rope neox %ak_n, %w_rope_cos, %w_rope_sin positions %positions : tensor<?x2x32xbf16>, tensor<160x4xf32>, tensor<160x4xf32> positions tensor<?xi32>
  %keys1 = hk.kv_cache_write %ak_r, %slots into %keys0 : tensor<?x2x32xbf16>, tensor<?xi32>, tensor<?x160x2x32xbf16>
  %values1 = hk.kv_cache_write %av_h, %slots into %values0 : tensor<?x2x32xbf16>, tensor<?xi32>, tensor<?x160x2x32xbf16>
  %aq_4 = tensor.expand_shape %aq_r [[0, 1], [2], [3]] output_shape [%n, 1, 4, 32] : tensor<?x4x32xbf16> into tensor<?x1x4x32xbf16>
  %seen = hk.attention %aq_4, %keys1, %values1 kv_lens %kv_len scale 0.1767766952966369 causal : tensor<?x1x4x32xbf16>, tensor<?x160x2x32xbf16>, tensor<?x160x2x32xbf16> kv_lens tensor<?xi32> -> tensor<?x1x4x32xbf16>
  %seen_h = tensor.collapse_shape %seen [[0, 1], [2], [3]] : tensor<?x1x4x32xbf16> into tensor<?x4x32xbf16>
  %opened = hk.sigmoid %open_h : tensor<?x4x32xbf16> -> tensor<?x4x32xf32>
  %let = hk.mul %seen_h, %opened : tensor<?x4x32xbf16>, tensor<?x4x32xf32> -> tensor<?x4x32xbf16>
  %let_row = tensor.collapse_shape %let [[0], [1, 2]] : tensor<?x4x32xbf16> into tensor<?x128xbf16>
  %w_attn_out = hk.weight_ref @attn.out : tensor<64x128xbf16>
  %attn_out = hk.matmul %let_row, %w_attn_out transpose_b : tensor<?x128xbf16>, tensor<64x128xbf16> -> tensor<?x64xbf16>
  %attn_x = hk.add %delta_moe_out, %attn_out : tensor<?x64xbf16>
  // attn: experts.
  %w_attn_moe_norm = hk.weight_ref @attn.moe.norm : tensor<64xbf16>
  %attn_moe_in = hk.rms_norm %attn_x, %w_attn_moe_norm epsilon 1.0e-06 weight_offset 1.0 : tensor<?x64xbf16>, tensor<64xbf16>
  %w_attn_moe_router = hk.weight_ref @attn.moe.router : tensor<8x64xbf16>
  %attn_moe_logits = hk.matmul %attn_moe_in, %w_attn_moe_router transpose_b : tensor<?x64xbf16>, tensor<8x64xbf16> -> tensor<?x8xf32>
  %attn_moe_best, %attn_moe_ids = hk.topk %attn_moe_logits : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %attn_moe_weights = hk.softmax %attn_moe_best : tensor<?x2xf32>
  %attn_moe_keys = tensor.collapse_shape %attn_moe_ids [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %attn_moe_counts = hk.histogram %attn_moe_keys : tensor<?xi32> -> tensor<8xi32>
  %attn_moe_order, %attn_moe_place = hk.sort_by_key %attn_moe_keys bins 8 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %attn_moe_bounds = hk.cumsum offsets %attn_moe_counts : tensor<8xi32> -> tensor<9xi32>
  %w_attn_moe_gate_up = hk.weight_ref @attn.moe.gate_up : tensor<8x64x64xbf16>
  %w_attn_moe_down = hk.weight_ref @attn.moe.down : tensor<8x64x32xbf16>
  %attn_moe_up = hk.grouped_matmul %attn_moe_in, %w_attn_moe_gate_up bounds %attn_moe_bounds order %attn_moe_order transpose_b top_k 2 : tensor<?x64xbf16>, tensor<8x64x64xbf16> groups tensor<9xi32> order tensor<?xi32> -> tensor<?x64xbf16>
  %attn_moe_act = hk.gated_activation silu %attn_moe_up : tensor<?x64xbf16> -> tensor<?x32xbf16>
  %attn_moe_down = hk.grouped_matmul %attn_moe_act, %w_attn_moe_down bounds %attn_moe_bounds transpose_b : tensor<?x32xbf16>, tensor<8x64x32xbf16> groups tensor<9xi32> -> tensor<?x64xf32>
  %attn_moe_flat = tensor.collapse_shape %attn_moe_weights [[0, 1]] : tensor<?x2xf32> into tensor<?xf32>
  %attn_moe_sorted = hk.gather_rows %attn_moe_flat, %attn_moe_order : tensor<?xf32>, tensor<?xi32> -> tensor<?xf32>
  %attn_moe_n = tensor.dim %attn_moe_flat, %c0 : tensor<?xf32>
  %attn_moe_column = tensor.expand_shape %attn_moe_sorted [[0, 1]] output_shape [%attn_moe_n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %attn_moe_scaled = hk.mul %attn_moe_down, %attn_moe_column : tensor<?x64xf32>, tensor<?x1xf32>
  %attn_moe_back = hk.gather_rows %attn_moe_scaled, %attn_moe_place : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  %attn_moe_slots = tensor.expand_shape %attn_moe_back [[0, 1], [2]] output_shape [%n, 2, 64] : tensor<?x64xf32> into tensor<?x2x64xf32>
  %attn_moe_turned = hk.transpose %attn_moe_slots [1, 0, 2] : tensor<?x2x64xf32> -> tensor<2x?x64xf32>
  %attn_moe_routed = hk.sum_slices %attn_moe_turned : tensor<2x?x64xf32> -> tensor<?x64xf32>
  %w_attn_moe_shared_gate_up = hk.weight_ref @attn.moe.shared_gate_up : tensor<64x64xbf16>
  %attn_moe_sup = hk.matmul %attn_moe_in, %w_attn_moe_shared_gate_up transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %attn_moe_sact = hk.gated_activation silu %attn_moe_sup : tensor<?x64xbf16> -> tensor<?x32xbf16>
  %w_attn_moe_shared_down = hk.weight_ref @attn.moe.shared_down : tensor<64x32xbf16>
  %attn_moe_sdown = hk.matmul %attn_moe_sact, %w_attn_moe_shared_down transpose_b : tensor<?x32xbf16>, tensor<64x32xbf16> -> tensor<?x64xf32>
  %w_attn_moe_shared_gate = hk.weight_ref @attn.moe.shared_gate : tensor<1x64xbf16>
  %attn_moe_sgate = hk.matmul %attn_moe_in, %w_attn_moe_shared_gate transpose_b : tensor<?x64xbf16>, tensor<1x64xbf16> -> tensor<?x1xf32>
  %attn_moe_open = hk.sigmoid %attn_moe_sgate : tensor<?x1xf32>
  %attn_moe_shared = hk.mul %attn_moe_sdown, %attn_moe_open : tensor<?x64xf32>, tensor<?x1xf32>
  %attn_moe_both = hk.add %attn_moe_routed, %attn_moe_shared : tensor<?x64xf32>
  %attn_moe_out = hk.add %attn_x, %attn_moe_both : tensor<?x64xbf16>, tensor<?x64xf32> -> tensor<?x64xbf16>
  return %attn_moe_out, %conv1, %delta1, %keys1, %values1 : tensor<?x64xbf16>, tensor<4x3x512xbf16>, tensor<4x4x64x64xf32>, tensor<?x160x2x32xbf16>, tensor<?x160x2x32xbf16>
}

func.func @prefill(
    %x: tensor<?x64xbf16> {hk.name = "x", hk.dims = ["N", "_"]},
    %positions: tensor<?xi32> {hk.name = "positions", hk.dims = ["N"]},
    %slots: tensor<?xi32> {hk.name = "slots", hk.dims = ["N"]},
    %kv_len: tensor<1xi32> {hk.name = "kv_len"},
    %conv0: tensor<1x3x512xbf16> {hk.name = "conv", hk.state},
    %delta0: tensor<1x4x64x64xf32> {hk.name = "delta", hk.state},
    %keys0: tensor<1x160x2x32xbf16> {hk.name = "keys", hk.state},
    %values0: tensor<1x160x2x32xbf16> {hk.name = "values", hk.state})
    -> (tensor<?x64xbf16> {hk.name = "y"}, tensor<1x3x512xbf16>, tensor<1x4x64x64xf32>, tensor<1x160x2x32xbf16>, tensor<1x160x2x32xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xbf16>
  // The gated delta rule.
  %w_delta_norm = hk.weight_ref @delta.norm : tensor<64xbf16>
  %delta_in = hk.rms_norm %x, %w_delta_norm epsilon 1.0e-06 weight_offset 1.0 : tensor<?x64xbf16>, tensor<64xbf16>
  %w_delta_qkvz = hk.weight_ref @delta.qkvz : tensor<768x64xbf16>
  %qkvz = hk.matmul %delta_in, %w_delta_qkvz transpose_b : tensor<?x64xbf16>, tensor<768x64xbf16> -> tensor<?x768xbf16>
  %w_delta_ba = hk.weight_ref @delta.ba : tensor<8x64xbf16>
  %ba = hk.matmul %delta_in, %w_delta_ba transpose_b : tensor<?x64xbf16>, tensor<8x64xbf16> -> tensor<?x8xbf16>
  %grouped = tensor.expand_shape %qkvz [[0], [1, 2]] output_shape [%n, 2, 384] : tensor<?x768xbf16> into tensor<?x2x384xbf16>
  %q_g = tensor.extract_slice %grouped[0, 0, 0] [%n, 2, 64] [1, 1, 1] : tensor<?x2x384xbf16> to tensor<?x2x64xbf16>
  %q_c = tensor.collapse_shape %q_g [[0], [1, 2]] : tensor<?x2x64xbf16> into tensor<?x128xbf16>
  %k_g = tensor.extract_slice %grouped[0, 0, 64] [%n, 2, 64] [1, 1, 1] : tensor<?x2x384xbf16> to tensor<?x2x64xbf16>
  %k_c = tensor.collapse_shape %k_g [[0], [1, 2]] : tensor<?x2x64xbf16> into tensor<?x128xbf16>
  %v_g = tensor.extract_slice %grouped[0, 0, 128] [%n, 2, 128] [1, 1, 1] : tensor<?x2x384xbf16> to tensor<?x2x128xbf16>
  %v_c = tensor.collapse_shape %v_g [[0], [1, 2]] : tensor<?x2x128xbf16> into tensor<?x256xbf16>
  %z_g = tensor.extract_slice %grouped[0, 0, 256] [%n, 2, 128] [1, 1, 1] : tensor<?x2x384xbf16> to tensor<?x2x128xbf16>
  %z_c = tensor.collapse_shape %z_g [[0], [1, 2]] : tensor<?x2x128xbf16> into tensor<?x256xbf16>
  %mixed = hk.concat 1 (%q_c, %k_c, %v_c) : tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<?x256xbf16> -> tensor<?x512xbf16>
  %z = tensor.expand_shape %z_c [[0], [1, 2]] output_shape [%n, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  %ba_g = tensor.expand_shape %ba [[0], [1, 2]] output_shape [%n, 2, 4] : tensor<?x8xbf16> into tensor<?x2x4xbf16>
  %b_g = tensor.extract_slice %ba_g[0, 0, 0] [%n, 2, 2] [1, 1, 1] : tensor<?x2x4xbf16> to tensor<?x2x2xbf16>
  %b_c = tensor.collapse_shape %b_g [[0], [1, 2]] : tensor<?x2x2xbf16> into tensor<?x4xbf16>
  %b = tensor.expand_shape %b_c [[0, 1], [2]] output_shape [1, %n, 4] : tensor<?x4xbf16> into tensor<1x?x4xbf16>
  %a_g = tensor.extract_slice %ba_g[0, 0, 2] [%n, 2, 2] [1, 1, 1] : tensor<?x2x4xbf16> to tensor<?x2x2xbf16>
  %a_c = tensor.collapse_shape %a_g [[0], [1, 2]] : tensor<?x2x2xbf16> into tensor<?x4xbf16>
  %a = tensor.expand_shape %a_c [[0, 1], [2]] output_shape [1, %n, 4] : tensor<?x4xbf16> into tensor<1x?x4xbf16>
  %w_delta_dt_bias = hk.weight_ref @delta.dt_bias : tensor<4xf32>
  %w_delta_a_log = hk.weight_ref @delta.a_log : tensor<4xf32>
  %rate = hk.exp %w_delta_a_log : tensor<4xf32>
  %minus = hk.neg %rate : tensor<4xf32>
  %shifted = hk.add %a, %w_delta_dt_bias : tensor<1x?x4xbf16>, tensor<4xf32> -> tensor<1x?x4xf32>
  %soft = hk.softplus %shifted : tensor<1x?x4xf32>
  %g = hk.mul %minus, %soft : tensor<4xf32>, tensor<1x?x4xf32> -> tensor<1x?x4xf32>
  %beta = hk.sigmoid %b : tensor<1x?x4xbf16> -> tensor<1x?x4xf32>
  %mixed3 = tensor.expand_shape %mixed [[0, 1], [2]] output_shape [1, %n, 512] : tensor<?x512xbf16> into tensor<1x?x512xbf16>
  %w_delta_conv = hk.weight_ref @delta.conv : tensor<512x4xbf16>
  %conv, %conv1 = hk.causal_conv1d channel_last %mixed3, %w_delta_conv state %conv0 : tensor<1x?x512xbf16>, tensor<512x4xbf16> state tensor<1x3x512xbf16> -> tensor<1x?x512xf32>, tensor<1x3x512xbf16>
  %qkv = hk.silu %conv : tensor<1x?x512xf32> -> tensor<1x?x512xbf16>
  %q_s = tensor.extract_slice %qkv[0, 0, 0] [1, %n, 128] [1, 1, 1] : tensor<1x?x512xbf16> to tensor<1x?x128xbf16>
  %q = tensor.expand_shape %q_s [[0], [1], [2, 3]] output_shape [1, %n, 2, 64] : tensor<1x?x128xbf16> into tensor<1x?x2x64xbf16>
  %k_s = tensor.extract_slice %qkv[0, 0, 128] [1, %n, 128] [1, 1, 1] : tensor<1x?x512xbf16> to tensor<1x?x128xbf16>
  %k = tensor.expand_shape %k_s [[0], [1], [2, 3]] output_shape [1, %n, 2, 64] : tensor<1x?x128xbf16> into tensor<1x?x2x64xbf16>
  %v_s = tensor.extract_slice %qkv[0, 0, 256] [1, %n, 256] [1, 1, 1] : tensor<1x?x512xbf16> to tensor<1x?x256xbf16>
  %v = tensor.expand_shape %v_s [[0], [1], [2, 3]] output_shape [1, %n, 4, 64] : tensor<1x?x256xbf16> into tensor<1x?x4x64xbf16>
  %qn = hk.l2_norm %q epsilon 1.0e-06 : tensor<1x?x2x64xbf16>
  %kn = hk.l2_norm %k epsilon 1.0e-06 : tensor<1x?x2x64xbf16>
  %sums = hk.cumsum inclusive %g dim 1 chunk 64 : tensor<1x?x4xf32>
  %kkt = hk.chunk_kkt %kn decay %sums beta %beta chunk 64 : tensor<1x?x2x64xbf16> decay tensor<1x?x4xf32> beta tensor<1x?x4xf32> -> tensor<1x?x4x64xf32>
  %inverse = hk.solve_tril %kkt : tensor<1x?x4x64xf32> -> tensor<1x?x4x64xbf16>
  %w, %u = hk.chunk_wu %kn, %v, %inverse decay %sums beta %beta : tensor<1x?x2x64xbf16>, tensor<1x?x4x64xbf16>, tensor<1x?x4x64xbf16> decay tensor<1x?x4xf32> beta tensor<1x?x4xf32> -> tensor<1x?x4x64xbf16>, tensor<1x?x4x64xbf16>
  %h, %vn, %delta1 = hk.chunk_state %kn, %w, %u decay %sums state %delta0 chunk 64 : tensor<1x?x2x64xbf16>, tensor<1x?x4x64xbf16>, tensor<1x?x4x64xbf16> decay tensor<1x?x4xf32> state tensor<1x4x64x64xf32> -> tensor<1x?x4x64x64xbf16>, tensor<1x?x4x64xbf16>, tensor<1x4x64x64xf32>
  %o = hk.chunk_output %qn, %kn, %vn, %h decay %sums chunk 64 : tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x4x64xbf16>, tensor<1x?x4x64x64xbf16> decay tensor<1x?x4xf32> -> tensor<1x?x4x64xbf16>
  %o_rows = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<1x?x4x64xbf16> into tensor<?x4x64xbf16>
  %w_delta_gated_norm = hk.weight_ref @delta.gated_norm : tensor<64xbf16>
  %normed = hk.rms_norm %o_rows, %w_delta_gated_norm epsilon 1.0e-06 : tensor<?x4x64xbf16>, tensor<64xbf16> -> tensor<?x4x64xf32>
  %gate = hk.silu %z : tensor<?x4x64xbf16> -> tensor<?x4x64xf32>
  %gated = hk.mul %normed, %gate : tensor<?x4x64xf32> -> tensor<?x4x64xbf16>
  %gated_row = tensor.collapse_shape %gated [[0], [1, 2]] : tensor<?x4x64xbf16> into tensor<?x256xbf16>
  %w_delta_out = hk.weight_ref @delta.out : tensor<64x256xbf16>
  %delta_out = hk.matmul %gated_row, %w_delta_out transpose_b : tensor<?x256xbf16>, tensor<64x256xbf16> -> tensor<?x64xbf16>
  %delta_x = hk.add %x, %delta_out : tensor<?x64xbf16>
  // delta: experts.
  %w_delta_moe_norm = hk.weight_ref @delta.moe.norm : tensor<64xbf16>
  %delta_moe_in = hk.rms_norm %delta_x, %w_delta_moe_norm epsilon 1.0e-06 weight_offset 1.0 : tensor<?x64xbf16>, tensor<64xbf16>
  %w_delta_moe_router = hk.weight_ref @delta.moe.router : tensor<8x64xbf16>
  %delta_moe_logits = hk.matmul %delta_moe_in, %w_delta_moe_router transpose_b : tensor<?x64xbf16>, tensor<8x64xbf16> -> tensor<?x8xf32>
  %delta_moe_best, %delta_moe_ids = hk.topk %delta_moe_logits : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %delta_moe_weights = hk.softmax %delta_moe_best : tensor<?x2xf32>
  %delta_moe_keys = tensor.collapse_shape %delta_moe_ids [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %delta_moe_counts = hk.histogram %delta_moe_keys : tensor<?xi32> -> tensor<8xi32>
  %delta_moe_order, %delta_moe_place = hk.sort_by_key %delta_moe_keys bins 8 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %delta_moe_bounds = hk.cumsum offsets %delta_moe_counts : tensor<8xi32> -> tensor<9xi32>
  %w_delta_moe_gate_up = hk.weight_ref @delta.moe.gate_up : tensor<8x64x64xbf16>
  %w_delta_moe_down = hk.weight_ref @delta.moe.down : tensor<8x64x32xbf16>
  %delta_moe_up = hk.grouped_matmul %delta_moe_in, %w_delta_moe_gate_up bounds %delta_moe_bounds order %delta_moe_order transpose_b top_k 2 : tensor<?x64xbf16>, tensor<8x64x64xbf16> groups tensor<9xi32> order tensor<?xi32> -> tensor<?x64xbf16>
  %delta_moe_act = hk.gated_activation silu %delta_moe_up : tensor<?x64xbf16> -> tensor<?x32xbf16>
  %delta_moe_down = hk.grouped_matmul %delta_moe_act, %w_delta_moe_down bounds %delta_moe_bounds transpose_b : tensor<?x32xbf16>, tensor<8x64x32xbf16> groups tensor<9xi32> -> tensor<?x64xf32>
  %delta_moe_flat = tensor.collapse_shape %delta_moe_weights [[0, 1]] : tensor<?x2xf32> into tensor<?xf32>
  %delta_moe_sorted = hk.gather_rows %delta_moe_flat, %delta_moe_order : tensor<?xf32>, tensor<?xi32> -> tensor<?xf32>
  %delta_moe_n = tensor.dim %delta_moe_flat, %c0 : tensor<?xf32>
  %delta_moe_column = tensor.expand_shape %delta_moe_sorted [[0, 1]] output_shape [%delta_moe_n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %delta_moe_scaled = hk.mul %delta_moe_down, %delta_moe_column : tensor<?x64xf32>, tensor<?x1xf32>
  %delta_moe_back = hk.gather_rows %delta_moe_scaled, %delta_moe_place : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  %delta_moe_slots = tensor.expand_shape %delta_moe_back [[0, 1], [2]] output_shape [%n, 2, 64] : tensor<?x64xf32> into tensor<?x2x64xf32>
  %delta_moe_turned = hk.transpose %delta_moe_slots [1, 0, 2] : tensor<?x2x64xf32> -> tensor<2x?x64xf32>
  %delta_moe_routed = hk.sum_slices %delta_moe_turned : tensor<2x?x64xf32> -> tensor<?x64xf32>
  %w_delta_moe_shared_gate_up = hk.weight_ref @delta.moe.shared_gate_up : tensor<64x64xbf16>
  %delta_moe_sup = hk.matmul %delta_moe_in, %w_delta_moe_shared_gate_up transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %delta_moe_sact = hk.gated_activation silu %delta_moe_sup : tensor<?x64xbf16> -> tensor<?x32xbf16>
  %w_delta_moe_shared_down = hk.weight_ref @delta.moe.shared_down : tensor<64x32xbf16>
  %delta_moe_sdown = hk.matmul %delta_moe_sact, %w_delta_moe_shared_down transpose_b : tensor<?x32xbf16>, tensor<64x32xbf16> -> tensor<?x64xf32>
  %w_delta_moe_shared_gate = hk.weight_ref @delta.moe.shared_gate : tensor<1x64xbf16>
  %delta_moe_sgate = hk.matmul %delta_moe_in, %w_delta_moe_shared_gate transpose_b : tensor<?x64xbf16>, tensor<1x64xbf16> -> tensor<?x1xf32>
  %delta_moe_open = hk.sigmoid %delta_moe_sgate : tensor<?x1xf32>
  %delta_moe_shared = hk.mul %delta_moe_sdown, %delta_moe_open : tensor<?x64xf32>, tensor<?x1xf32>
  %delta_moe_both = hk.add %delta_moe_routed, %delta_moe_shared : tensor<?x64xf32>
  %delta_moe_out = hk.add %delta_x, %delta_moe_both : tensor<?x64xbf16>, tensor<?x64xf32> -> tensor<?x64xbf16>
  // Gated attention.
  %w_attn_norm = hk.weight_ref @attn.norm : tensor<64xbf16>
  %attn_in = hk.rms_norm %delta_moe_out, %w_attn_norm epsilon 1.0e-06 weight_offset 1.0 : tensor<?x64xbf16>, tensor<64xbf16>
  %w_attn_q = hk.weight_ref @attn.q : tensor<256x64xbf16>
  %qg = hk.matmul %attn_in, %w_attn_q transpose_b : tensor<?x64xbf16>, tensor<256x64xbf16> -> tensor<?x256xbf16>
  %w_attn_k = hk.weight_ref @attn.k : tensor<64x64xbf16>
  %ak = hk.matmul %attn_in, %w_attn_k transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %w_attn_v = hk.weight_ref @attn.v : tensor<64x64xbf16>
  %av = hk.matmul %attn_in, %w_attn_v transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %qg_h = tensor.expand_shape %qg [[0], [1, 2]] output_shape [%n, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  %aq_h = tensor.extract_slice %qg_h[0, 0, 0] [%n, 4, 32] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x32xbf16>
  %open_h = tensor.extract_slice %qg_h[0, 0, 32] [%n, 4, 32] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x32xbf16>
  %ak_h = tensor.expand_shape %ak [[0], [1, 2]] output_shape [%n, 2, 32] : tensor<?x64xbf16> into tensor<?x2x32xbf16>
  %av_h = tensor.expand_shape %av [[0], [1, 2]] output_shape [%n, 2, 32] : tensor<?x64xbf16> into tensor<?x2x32xbf16>
  %w_rope_cos = hk.weight_ref @rope.cos : tensor<160x4xf32>
  %w_rope_sin = hk.weight_ref @rope.sin : tensor<160x4xf32>
  %w_attn_q_norm = hk.weight_ref @attn.q_norm : tensor<32xbf16>
  %aq_n = hk.rms_norm %aq_h, %w_attn_q_norm epsilon 1.0e-06 weight_offset 1.0 : tensor<?x4x32xbf16>, tensor<32xbf16>
  %aq_r = hk.rope neox %aq_n, %w_rope_cos, %w_rope_sin positions %positions : tensor<?x4x32xbf16>, tensor<160x4xf32>, tensor<160x4xf32> positions tensor<?xi32>
  %w_attn_k_norm = hk.weight_ref @attn.k_norm : tensor<32xbf16>
  %ak_n = hk.rms_norm %ak_h, %w_attn_k_norm epsilon 1.0e-06 weight_offset 1.0 : tensor<?x2x32xbf16>, tensor<32xbf16>
  %ak_r = hk.rope neox %ak_n, %w_rope_cos, %w_rope_sin positions %positions : tensor<?x2x32xbf16>, tensor<160x4xf32>, tensor<160x4xf32> positions tensor<?xi32>
  %keys1 = hk.kv_cache_write %ak_r, %slots into %keys0 : tensor<?x2x32xbf16>, tensor<?xi32>, tensor<1x160x2x32xbf16>
  %values1 = hk.kv_cache_write %av_h, %slots into %values0 : tensor<?x2x32xbf16>, tensor<?xi32>, tensor<1x160x2x32xbf16>
  %seen_h = hk.attention %aq_r, %keys1, %values1 kv_lens %kv_len scale 0.1767766952966369 causal : tensor<?x4x32xbf16>, tensor<1x160x2x32xbf16>, tensor<1x160x2x32xbf16> kv_lens tensor<1xi32> -> tensor<?x4x32xbf16>
  %opened = hk.sigmoid %open_h : tensor<?x4x32xbf16> -> tensor<?x4x32xf32>
  %let = hk.mul %seen_h, %opened : tensor<?x4x32xbf16>, tensor<?x4x32xf32> -> tensor<?x4x32xbf16>
  %let_row = tensor.collapse_shape %let [[0], [1, 2]] : tensor<?x4x32xbf16> into tensor<?x128xbf16>
  %w_attn_out = hk.weight_ref @attn.out : tensor<64x128xbf16>
  %attn_out = hk.matmul %let_row, %w_attn_out transpose_b : tensor<?x128xbf16>, tensor<64x128xbf16> -> tensor<?x64xbf16>
  %attn_x = hk.add %delta_moe_out, %attn_out : tensor<?x64xbf16>
  // attn: experts.
  %w_attn_moe_norm = hk.weight_ref @attn.moe.norm : tensor<64xbf16>
  %attn_moe_in = hk.rms_norm %attn_x, %w_attn_moe_norm epsilon 1.0e-06 weight_offset 1.0 : tensor<?x64xbf16>, tensor<64xbf16>
  %w_attn_moe_router = hk.weight_ref @attn.moe.router : tensor<8x64xbf16>
  %attn_moe_logits = hk.matmul %attn_moe_in, %w_attn_moe_router transpose_b : tensor<?x64xbf16>, tensor<8x64xbf16> -> tensor<?x8xf32>
  %attn_moe_best, %attn_moe_ids = hk.topk %attn_moe_logits : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %attn_moe_weights = hk.softmax %attn_moe_best : tensor<?x2xf32>
  %attn_moe_keys = tensor.collapse_shape %attn_moe_ids [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %attn_moe_counts = hk.histogram %attn_moe_keys : tensor<?xi32> -> tensor<8xi32>
  %attn_moe_order, %attn_moe_place = hk.sort_by_key %attn_moe_keys bins 8 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %attn_moe_bounds = hk.cumsum offsets %attn_moe_counts : tensor<8xi32> -> tensor<9xi32>
  %w_attn_moe_gate_up = hk.weight_ref @attn.moe.gate_up : tensor<8x64x64xbf16>
  %w_attn_moe_down = hk.weight_ref @attn.moe.down : tensor<8x64x32xbf16>
  %attn_moe_up = hk.grouped_matmul %attn_moe_in, %w_attn_moe_gate_up bounds %attn_moe_bounds order %attn_moe_order transpose_b top_k 2 : tensor<?x64xbf16>, tensor<8x64x64xbf16> groups tensor<9xi32> order tensor<?xi32> -> tensor<?x64xbf16>
  %attn_moe_act = hk.gated_activation silu %attn_moe_up : tensor<?x64xbf16> -> tensor<?x32xbf16>
  %attn_moe_down = hk.grouped_matmul %attn_moe_act, %w_attn_moe_down bounds %attn_moe_bounds transpose_b : tensor<?x32xbf16>, tensor<8x64x32xbf16> groups tensor<9xi32> -> tensor<?x64xf32>
  %attn_moe_flat = tensor.collapse_shape %attn_moe_weights [[0, 1]] : tensor<?x2xf32> into tensor<?xf32>
  %attn_moe_sorted = hk.gather_rows %attn_moe_flat, %attn_moe_order : tensor<?xf32>, tensor<?xi32> -> tensor<?xf32>
  %attn_moe_n = tensor.dim %attn_moe_flat, %c0 : tensor<?xf32>
  %attn_moe_column = tensor.expand_shape %attn_moe_sorted [[0, 1]] output_shape [%attn_moe_n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %attn_moe_scaled = hk.mul %attn_moe_down, %attn_moe_column : tensor<?x64xf32>, tensor<?x1xf32>
  %attn_moe_back = hk.gather_rows %attn_moe_scaled, %attn_moe_place : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  %attn_moe_slots = tensor.expand_shape %attn_moe_back [[0, 1], [2]] output_shape [%n, 2, 64] : tensor<?x64xf32> into tensor<?x2x64xf32>
  %attn_moe_turned = hk.transpose %attn_moe_slots [1, 0, 2] : tensor<?x2x64xf32> -> tensor<2x?x64xf32>
  %attn_moe_routed = hk.sum_slices %attn_moe_turned : tensor<2x?x64xf32> -> tensor<?x64xf32>
  %w_attn_moe_shared_gate_up = hk.weight_ref @attn.moe.shared_gate_up : tensor<64x64xbf16>
  %attn_moe_sup = hk.matmul %attn_moe_in, %w_attn_moe_shared_gate_up transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %attn_moe_sact = hk.gated_activation silu %attn_moe_sup : tensor<?x64xbf16> -> tensor<?x32xbf16>
  %w_attn_moe_shared_down = hk.weight_ref @attn.moe.shared_down : tensor<64x32xbf16>
  %attn_moe_sdown = hk.matmul %attn_moe_sact, %w_attn_moe_shared_down transpose_b : tensor<?x32xbf16>, tensor<64x32xbf16> -> tensor<?x64xf32>
  %w_attn_moe_shared_gate = hk.weight_ref @attn.moe.shared_gate : tensor<1x64xbf16>
  %attn_moe_sgate = hk.matmul %attn_moe_in, %w_attn_moe_shared_gate transpose_b : tensor<?x64xbf16>, tensor<1x64xbf16> -> tensor<?x1xf32>
  %attn_moe_open = hk.sigmoid %attn_moe_sgate : tensor<?x1xf32>
  %attn_moe_shared = hk.mul %attn_moe_sdown, %attn_moe_open : tensor<?x64xf32>, tensor<?x1xf32>
  %attn_moe_both = hk.add %attn_moe_routed, %attn_moe_shared : tensor<?x64xf32>
  %attn_moe_out = hk.add %attn_x, %attn_moe_both : tensor<?x64xbf16>, tensor<?x64xf32> -> tensor<?x64xbf16>
  return %attn_moe_out, %conv1, %delta1, %keys1, %values1 : tensor<?x64xbf16>, tensor<1x3x512xbf16>, tensor<1x4x64x64xf32>, tensor<1x160x2x32xbf16>, tensor<1x160x2x32xbf16>
}
