"""How PyTorch's functions that are written in Python appear in graphs; written by tools/make_fx_forms.py.

A line: the function, `>` and its name in the graph where that is another, its positional arguments, `|`, its keywords with defaults.
Indented lines go on.
"""

FORMS = """
torch.atleast_1d > torch.functional.atleast_1d *tensors |
torch.atleast_2d > torch.functional.atleast_2d *tensors |
torch.atleast_3d > torch.functional.atleast_3d *tensors |
torch.block_diag > torch.functional.block_diag *tensors |
torch.broadcast_tensors > torch.functional.broadcast_tensors *tensors |
torch.cartesian_prod > torch.functional.cartesian_prod *tensors |
torch.cdist > torch.functional.cdist x1 x2 | p=2.0 compute_mode='use_mm_for_euclid_dist_if_necessary'
torch.chain_matmul > torch.functional.chain_matmul *matrices |
torch.lobpcg > torch._lobpcg.lobpcg A | k=None B=None X=None n=None iK=None niter=None tol=None largest=None method=None tracker=None
  ortho_iparams=None ortho_fparams=None ortho_bparams=None
torch.einsum > torch.functional.einsum *operands |
torch.lu > torch.functional.lu *args | pivot=True get_infos=False out=None
torch.meshgrid > torch.functional.meshgrid *tensors | indexing=None
torch.norm > torch.functional.norm input | p='fro' dim=None keepdim=False out=None dtype=None
torch.pca_lowrank > torch._lowrank.pca_lowrank A | q=None center=True niter=2
torch.split > torch.functional.split tensor split_size_or_sections | dim=0
torch.stft > torch.functional.stft input n_fft | hop_length=None win_length=None window=None center=True pad_mode='reflect' normalized=False
  onesided=None return_complex=None align_to_window=None
torch.svd_lowrank > torch._lowrank.svd_lowrank A | q=6 niter=2 M=None
torch.sym_float a |
torch.sym_int a |
torch.sym_ite b t f |
torch.sym_max a b |
torch.sym_min a b |
torch.sym_not a |
torch.sym_sqrt > torch._sym_sqrt a |
torch.tensordot > torch.functional.tensordot a b | dims=2 out=None
torch.unique > torch.functional.unique *args | sorted=True return_inverse=False return_counts=False dim=None
torch.unique_consecutive > torch.functional.unique_consecutive *args | return_inverse=False return_counts=False dim=None
torch.unravel_index > torch.functional.unravel_index indices | shape=shape
nn.functional.adaptive_avg_pool2d input output_size |
nn.functional.adaptive_avg_pool3d input output_size |
nn.functional.adaptive_max_pool1d input output_size | return_indices=False
nn.functional.adaptive_max_pool1d_with_indices input output_size | return_indices=False
nn.functional.adaptive_max_pool2d input output_size | return_indices=False
nn.functional.adaptive_max_pool2d_with_indices input output_size | return_indices=False
nn.functional.adaptive_max_pool3d input output_size | return_indices=False
nn.functional.adaptive_max_pool3d_with_indices input output_size | return_indices=False
nn.functional.affine_grid theta size | align_corners=None
nn.functional.alpha_dropout input | p=0.5 training=False inplace=False
nn.functional.batch_norm input running_mean running_var | weight=None bias=None training=False momentum=0.1 eps=1e-05
nn.functional.binary_cross_entropy input target | weight=None size_average=None reduce=None reduction='mean'
nn.functional.binary_cross_entropy_with_logits input target | weight=None size_average=None reduce=None reduction='mean' pos_weight=None
nn.functional.celu input | alpha=1.0 inplace=False
nn.functional.cosine_embedding_loss input1 input2 target | margin=0 size_average=None reduce=None reduction='mean'
nn.functional.cross_entropy input target | weight=None size_average=None ignore_index=-100 reduce=None reduction='mean' label_smoothing=0.0
nn.functional.ctc_loss log_probs targets input_lengths target_lengths | blank=0 reduction='mean' zero_infinity=False
nn.functional.dropout input | p=0.5 training=True inplace=False
nn.functional.dropout1d input | p=0.5 training=True inplace=False
nn.functional.dropout2d input | p=0.5 training=True inplace=False
nn.functional.dropout3d input | p=0.5 training=True inplace=False
nn.functional.elu input | alpha=1.0 inplace=False
nn.functional.embedding input weight | padding_idx=None max_norm=None norm_type=2.0 scale_grad_by_freq=False sparse=False
nn.functional.embedding_bag input weight | offsets=None max_norm=None norm_type=2 scale_grad_by_freq=False mode='mean' sparse=False
  per_sample_weights=None include_last_offset=False padding_idx=None
nn.functional.feature_alpha_dropout input | p=0.5 training=False inplace=False
nn.functional.fold input output_size kernel_size | dilation=1 padding=0 stride=1
nn.functional.fractional_max_pool2d input kernel_size | output_size=None output_ratio=None return_indices=False _random_samples=None
nn.functional.fractional_max_pool2d_with_indices input kernel_size | output_size=None output_ratio=None return_indices=False _random_samples=None
nn.functional.fractional_max_pool3d input kernel_size | output_size=None output_ratio=None return_indices=False _random_samples=None
nn.functional.fractional_max_pool3d_with_indices input kernel_size | output_size=None output_ratio=None return_indices=False _random_samples=None
nn.functional.gaussian_nll_loss input target var | full=False eps=1e-06 reduction='mean'
nn.functional.glu input | dim=-1
nn.functional.grid_sample input grid | mode='bilinear' padding_mode='zeros' align_corners=None
nn.functional.group_norm input num_groups | weight=None bias=None eps=1e-05
nn.functional.grouped_mm > torch._grouped_mm mat_a mat_b | offs=None bias=None out_dtype=None
nn.functional.gumbel_softmax logits | tau=1 hard=False eps=1e-10 dim=-1
nn.functional.hardsigmoid input | inplace=False
nn.functional.hardswish input | inplace=False
nn.functional.hardtanh input | min_val=-1.0 max_val=1.0 inplace=False
nn.functional.hinge_embedding_loss input target | margin=1.0 size_average=None reduce=None reduction='mean'
nn.functional.huber_loss input target | reduction='mean' delta=1.0 weight=None
nn.functional.instance_norm input | running_mean=None running_var=None weight=None bias=None use_input_stats=True momentum=0.1 eps=1e-05
nn.functional.interpolate input | size=None scale_factor=None mode='nearest' align_corners=None recompute_scale_factor=None antialias=False
nn.functional.kl_div input target | size_average=None reduce=None reduction='mean' log_target=False
nn.functional.l1_loss input target | size_average=None reduce=None reduction='mean'
nn.functional.layer_norm input normalized_shape | weight=None bias=None eps=1e-05
nn.functional.leaky_relu input | negative_slope=0.01 inplace=False
nn.functional.linear_cross_entropy input linear_weight target | linear_bias=None weight=None reduction='mean' ignore_index=None label_smoothing=0.0
  options=None
nn.functional.local_response_norm input size | alpha=0.0001 beta=0.75 k=1.0
nn.functional.log_softmax input | dim=None _stacklevel=3 dtype=None
nn.functional.lp_pool1d input norm_type kernel_size | stride=None ceil_mode=False
nn.functional.lp_pool2d input norm_type kernel_size | stride=None ceil_mode=False
nn.functional.lp_pool3d input norm_type kernel_size | stride=None ceil_mode=False
nn.functional.margin_ranking_loss input1 input2 target | margin=0 size_average=None reduce=None reduction='mean'
nn.functional.max_pool1d input kernel_size | stride=None padding=0 dilation=1 ceil_mode=False return_indices=False
nn.functional.max_pool1d_with_indices input kernel_size | stride=None padding=0 dilation=1 ceil_mode=False return_indices=False
nn.functional.max_pool2d input kernel_size | stride=None padding=0 dilation=1 ceil_mode=False return_indices=False
nn.functional.max_pool2d_with_indices input kernel_size | stride=None padding=0 dilation=1 ceil_mode=False return_indices=False
nn.functional.max_pool3d input kernel_size | stride=None padding=0 dilation=1 ceil_mode=False return_indices=False
nn.functional.max_pool3d_with_indices input kernel_size | stride=None padding=0 dilation=1 ceil_mode=False return_indices=False
nn.functional.max_unpool1d input indices kernel_size | stride=None padding=0 output_size=None
nn.functional.max_unpool2d input indices kernel_size | stride=None padding=0 output_size=None
nn.functional.max_unpool3d input indices kernel_size | stride=None padding=0 output_size=None
nn.functional.mish input | inplace=False
nn.functional.mse_loss input target | size_average=None reduce=None reduction='mean' weight=None
nn.functional.multi_head_attention_forward query key value embed_dim_to_check num_heads in_proj_weight in_proj_bias bias_k bias_v add_zero_attn
  dropout_p out_proj_weight out_proj_bias | training=True key_padding_mask=None need_weights=True attn_mask=None is_causal=False
  use_separate_proj_weight=False q_proj_weight=None k_proj_weight=None v_proj_weight=None static_k=None static_v=None average_attn_weights=True
nn.functional.multi_margin_loss input target | p=1 margin=1.0 weight=None size_average=None reduce=None reduction='mean'
nn.functional.multilabel_margin_loss input target | size_average=None reduce=None reduction='mean'
nn.functional.multilabel_soft_margin_loss input target | weight=None size_average=None reduce=None reduction='mean'
nn.functional.nll_loss input target | weight=None size_average=None ignore_index=-100 reduce=None reduction='mean'
nn.functional.normalize input | p=2.0 dim=1 eps=1e-12 out=None
nn.functional.pad input pad | mode='constant' value=None
nn.functional.poisson_nll_loss input target | log_input=True full=False size_average=None eps=1e-08 reduce=None reduction='mean'
nn.functional.relu input | inplace=False
nn.functional.relu6 input | inplace=False
nn.functional.rms_norm input normalized_shape | weight=None eps=None
nn.functional.rrelu input | lower=0.125 upper=0.3333333333333333 training=False inplace=False
nn.functional.selu input | inplace=False
nn.functional.sigmoid > .sigmoid input |
nn.functional.silu input | inplace=False
nn.functional.smooth_l1_loss input target | size_average=None reduce=None reduction='mean' beta=1.0
nn.functional.soft_margin_loss input target | size_average=None reduce=None reduction='mean'
nn.functional.softmax input | dim=None _stacklevel=3 dtype=None
nn.functional.softmin input | dim=None _stacklevel=3 dtype=None
nn.functional.softsign input |
nn.functional.tanh > .tanh input |
nn.functional.tanhshrink input |
nn.functional.threshold > torch.nn.functional._threshold input threshold value | inplace=False
nn.functional.triplet_margin_loss anchor positive negative | margin=1.0 p=2 eps=1e-06 swap=False size_average=None reduce=None reduction='mean'
nn.functional.triplet_margin_with_distance_loss anchor positive negative | distance_function=None margin=1.0 swap=False reduction='mean'
nn.functional.unfold input kernel_size | dilation=1 padding=0 stride=1
nn.functional.upsample > torch.nn.functional.interpolate input | size=None scale_factor=None mode='nearest' align_corners=None
  recompute_scale_factor=None antialias=False
nn.functional.upsample_bilinear > torch.nn.functional.interpolate input | size=None scale_factor=None mode='bilinear' align_corners=True
  recompute_scale_factor=None antialias=False
nn.functional.upsample_nearest > torch.nn.functional.interpolate input | size=None scale_factor=None mode='nearest' align_corners=None
  recompute_scale_factor=None antialias=False
nn.init.constant_ | tensor=tensor val=val
nn.init.kaiming_uniform > torch.nn.init.kaiming_uniform_ | tensor=tensor a=0 mode='fan_in' nonlinearity='leaky_relu' generator=None
nn.init.kaiming_uniform_ | tensor=tensor a=0 mode='fan_in' nonlinearity='leaky_relu' generator=None
nn.init.normal > torch.nn.init.normal_ | tensor=tensor mean=0.0 std=1.0 generator=None
nn.init.normal_ | tensor=tensor mean=0.0 std=1.0 generator=None
nn.init.uniform > torch.nn.init.uniform_ | tensor=tensor a=0.0 b=1.0 generator=None
nn.init.uniform_ | tensor=tensor a=0.0 b=1.0 generator=None
nn.init.zeros_ > .zero_ tensor |
"""
