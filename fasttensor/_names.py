"""Which module below fasttensor provides which name. Written by tools/make_names.py: change that, not this file."""

NAMES = {
    "__all__": {
        "autograd.generated_functions":
            "abs absolute acos acosh add arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atan2 atanh "
            "bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil celu copysign "
            "cos cosh deg2rad digamma eq erf erfc exp exp2 expm1 floor fmax fmin fmod frac gcd ge greater greater_equal "
            "gt hardshrink heaviside hypot i0 isfinite isinf isnan isneginf isposinf lcm ldexp le less less_equal "
            "lgamma log log10 log1p log2 logaddexp logaddexp2 logical_and logical_or logical_xor lt maximum minimum mul "
            "multiply ne neg negative not_equal rad2deg reciprocal relu remainder rsqrt selu sgn sigmoid sign sin sinc "
            "sinh sqrt square sub subtract tan tanh trunc xlogy",
        "functional.activation": "prelu",
        "functional.addmm": "_addmm_activation addbmm addmm addmv addr baddbmm",
        "functional.basics":
            "as_strided broadcast_to chunk clone detach diagonal flatten get_device is_complex is_floating_point is_inference "
            "is_nonzero is_same_size is_signed is_storage is_tensor moveaxis movedim narrow numel permute ravel reshape "
            "result_type select split split_with_sizes squeeze swapaxes swapdims t transpose typename unbind unflatten "
            "unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze",
        "functional.chains": "chain_matmul matrix_power",
        "functional.checks":
            "_assert _assert_async _check _check_index _check_is_size _check_not_implemented _check_tensor_all _check_type "
            "_check_value _check_with",
        "functional.class_losses": "nll_loss",
        "functional.complex_parts": "conj imag is_conj is_neg real resolve_conj resolve_neg view_as_complex view_as_real",
        "functional.contraction": "kron tensordot",
        "functional.control": "cond while_loop",
        "functional.conv": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution",
        "functional.convert":
            "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor "
            "from_dlpack",
        "functional.creation": "empty empty_like empty_permuted empty_strided fill fill_ full ones scalar_tensor zero_ zeros",
        "functional.creation_like": "full_like ones_like zeros_like",
        "functional.data": "as_tensor asarray complex from_numpy frombuffer polar tensor",
        "functional.decompositions": "cholesky geqrf lu lu_unpack qr svd",
        "functional.distance": "cdist cosine_similarity dist norm pairwise_distance pdist renorm",
        "functional.distributions":
            "_dirichlet_grad _sample_dirichlet _standard_gamma _standard_gamma_grad bernoulli binomial multinomial normal "
            "poisson",
        "functional.dropout":
            "alpha_dropout alpha_dropout_ dropout dropout_ feature_alpha_dropout feature_alpha_dropout_ feature_dropout "
            "feature_dropout_ native_dropout rrelu rrelu_",
        "functional.einsum": "einsum",
        "functional.elementwise":
            "addcdiv addcmul angle arctan2 clamp clamp_max clamp_min clip div divide erfinv float_power floor_divide isreal "
            "lerp logical_not pow rsub signbit true_divide where",
        "functional.float_functions": "conj_physical fix frexp logit mvlgamma nan_to_num nextafter polygamma positive round threshold",
        "functional.forms":
            "_clamp_ _clamp_max_scalar_ _clamp_min_scalar_ _clamp_scalar_ _div_ _div_floor_ _div_trunc_ _logit_ _logit_eps_ "
            "_masked_scale_ _mul_scale_ _nan_to_num_ _pow_half_ _pow_minus_half_ _pow_number_ _prelu_ abs_ acos_ acosh_ "
            "adaptive_max_pool1d add_ addcdiv_ addcmul_ addmv_ adjoint arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ "
            "as_strided_ asin_ asinh_ atan2_ atan_ atanh_ bilinear bitwise_and_ bitwise_left_shift_ bitwise_not_ bitwise_or_ "
            "bitwise_right_shift_ bitwise_xor_ ceil_ celu_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ conv_tbc copysign_ "
            "cos_ cosh_ deg2rad_ detach_ digamma_ embedding embedding_bag eq_ erf_ erfc_ erfinv_ exp2_ exp_ expm1_ fix_ floor_ "
            "floor_divide_ fmod_ frac_ gcd_ ge_ gt_ heaviside_ hypot_ i0_ igamma_ igammac_ lcm_ ldexp_ le_ lerp_ lgamma_ log10_ "
            "log1p_ log2_ log_ logical_and_ logical_not_ logical_or_ logical_xor_ logit_ lt_ mul_ nan_to_num_ "
            "native_channel_shuffle ne_ neg_ negative_ nextafter_ polygamma_ pow_ rad2deg_ reciprocal_ relu_ remainder_ round_ "
            "rsqrt_ selu_ sgn_ sigmoid_ sign_ sin_ sinc_ sinh_ sqrt_ square_ sub_ tan_ tanh_ threshold_ trunc_ view_as_complex_copy "
            "view_as_real_copy xlogy_",
        "functional.incomplete_gamma": "igamma igammac",
        "functional.indexing": "index_add index_copy index_fill index_put index_put_ index_reduce index_select",
        "functional.joining":
            "block_diag cartesian_prod cat column_stack combinations concat concatenate dsplit dstack hsplit hstack meshgrid "
            "row_stack stack tensor_split vsplit vstack",
        "functional.kinds": "_debug_has_internal_overlap is_distributed",
        "functional.linalg_norm": "frobenius_norm norm_except_dim nuclear_norm",
        "functional.losses": "binary_cross_entropy_with_logits ctc_loss kl_div poisson_nll_loss",
        "functional.margin_losses": "cosine_embedding_loss hinge_embedding_loss margin_ranking_loss triplet_margin_loss",
        "functional.masking": "argwhere masked_fill masked_scatter masked_select nonzero put take take_along_dim",
        "functional.matmul": "bmm dot ger inner matmul mm mv outer vdot",
        "functional.matrix_functions": "det lobpcg logdet matrix_exp pca_lowrank pinverse slogdet svd_lowrank",
        "functional.memory": "AcceleratorError OutOfMemoryError from_file",
        "functional.moments": "std std_mean var var_mean",
        "functional.native_norm": "batch_norm instance_norm native_batch_norm native_group_norm native_layer_norm",
        "functional.norm": "group_norm layer_norm rms_norm",
        "functional.numeric_info": "e finfo iinfo inf nan newaxis pi",
        "functional.padding": "channel_shuffle constant_pad_nd pixel_shuffle pixel_unshuffle",
        "functional.part_scatters": "as_strided_scatter diagonal_scatter select_scatter slice_scatter",
        "functional.pool": "adaptive_avg_pool1d avg_pool1d max_pool1d max_pool1d_with_indices max_pool2d max_pool3d",
        "functional.printing": "get_printoptions set_printoptions",
        "functional.quantile": "mode nanquantile quantile",
        "functional.random":
            "Generator default_generator get_rng_state initial_seed manual_seed rand rand_like randint randint_like randn "
            "randn_like randperm seed set_rng_state",
        "functional.ranges": "arange eye linspace logspace range tril_indices triu_indices",
        "functional.rearranging":
            "atleast_1d atleast_2d atleast_3d broadcast_tensors diag diag_embed diagflat flip fliplr flipud repeat_interleave "
            "roll rot90 tile tril triu unravel_index",
        "functional.reduction": "all amax amin aminmax any argmax argmin count_nonzero logsumexp max mean min nanmean nansum prod sum",
        "functional.removed": "eig lstsq matrix_rank solve symeig",
        "functional.rnn": "gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell",
        "functional.sampling": "affine_grid_generator grid_sampler grid_sampler_2d grid_sampler_3d",
        "functional.scan": "cummax cummin cumprod cumsum cumulative_trapezoid diff gradient logcumsumexp trapezoid trapz",
        "functional.scattering": "gather scatter scatter_add scatter_reduce",
        "functional.searching": "bincount bucketize histc histogram histogramdd isin searchsorted unique unique_consecutive",
        "functional.segments": "embedding_renorm_ nonzero_static segment_reduce",
        "functional.softmax": "log_softmax softmax",
        "functional.solving": "cholesky_inverse cholesky_solve inverse lu_solve orgqr ormqr triangular_solve",
        "functional.sorting": "argsort kthvalue median msort nanmedian sort topk",
        "functional.statistics": "allclose corrcoef cov cross equal isclose trace vander",
        "functional.stft": "istft stft",
        "functional.streams": "Event Stream",
        "functional.switches":
            "are_deterministic_algorithms_enabled compiled_with_cxx11_abi get_deterministic_debug_mode "
            "get_float32_matmul_precision get_num_interop_threads has_lapack has_mkl has_openmp has_spectral init_num_threads "
            "is_deterministic_algorithms_warn_only_enabled is_vulkan_available is_warn_always_enabled set_default_tensor_type "
            "set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal set_num_interop_threads "
            "set_warn_always use_deterministic_algorithms",
        "functional.symbolic_numbers": "_sym_sqrt sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum",
        "functional.view_copies":
            "alias_copy as_strided_copy broadcast_shapes detach_copy diagonal_copy expand_copy narrow_copy permute_copy "
            "resize_as_ select_copy slice_copy split_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy "
            "unbind_copy unfold_copy unsqueeze_copy view_copy",
        "functional.windows": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
    },
    "NN_FUNCTIONAL": {
        "autograd.generated_functions":
            "celu elu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 selu silu "
            "softplus softshrink softsign tanhshrink threshold",
        "functional.activation": "gelu glu prelu sigmoid tanh",
        "functional.attention": "_canonical_mask _none_or_dtype multi_head_attention_forward scaled_dot_product_attention",
        "functional.class_losses": "cross_entropy nll_loss",
        "functional.contraction": "bilinear",
        "functional.conv": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d fold unfold",
        "functional.distance": "cosine_similarity pairwise_distance pdist",
        "functional.dropout": "alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout rrelu rrelu_",
        "functional.embedding": "embedding embedding_bag one_hot",
        "functional.forms": "celu_ conv_tbc elu_ hardtanh_ leaky_relu_ relu_ selu_ threshold_",
        "functional.linear_cross_entropy": "LinearCrossEntropyOptions linear_cross_entropy",
        "functional.losses":
            "binary_cross_entropy binary_cross_entropy_with_logits ctc_loss gaussian_nll_loss huber_loss kl_div l1_loss mse_loss "
            "poisson_nll_loss smooth_l1_loss soft_margin_loss",
        "functional.margin_losses":
            "cosine_embedding_loss hinge_embedding_loss margin_ranking_loss multi_margin_loss multilabel_margin_loss "
            "multilabel_soft_margin_loss triplet_margin_loss triplet_margin_with_distance_loss",
        "functional.matmul": "linear",
        "functional.norm": "batch_norm group_norm instance_norm layer_norm local_response_norm normalize rms_norm",
        "functional.padding": "channel_shuffle pad pixel_shuffle pixel_unshuffle",
        "functional.pool":
            "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool1d_with_indices "
            "adaptive_max_pool2d adaptive_max_pool2d_with_indices adaptive_max_pool3d adaptive_max_pool3d_with_indices avg_pool1d "
            "avg_pool2d avg_pool3d max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices "
            "max_pool2d_with_indices_backward max_pool3d max_pool3d_with_indices",
        "functional.resize": "interpolate upsample upsample_bilinear upsample_nearest",
        "functional.sampling": "affine_grid grid_sample",
        "functional.softmax": "gumbel_softmax log_softmax softmax softmin",
        "functional.unpool":
            "fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices "
            "lp_pool1d lp_pool2d lp_pool3d max_unpool1d max_unpool2d max_unpool3d",
    },
    "SPECIAL": {
        "autograd.generated_functions":
            "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u "
            "chebyshev_polynomial_v chebyshev_polynomial_w digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammaln "
            "hermite_polynomial_h hermite_polynomial_he i0 i0e i1 i1e laguerre_polynomial_l legendre_polynomial_p log1p "
            "log_ndtr modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 ndtr ndtri psi "
            "scaled_modified_bessel_k0 scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t "
            "shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w sinc "
            "spherical_bessel_j0 xlog1py xlogy",
        "functional.float_functions": "logit multigammaln polygamma round",
        "functional.incomplete_gamma": "gammainc gammaincc zeta",
        "functional.reduction": "logsumexp",
        "functional.softmax": "log_softmax softmax",
    },
    "LINALG": {
        "functional.chains": "matrix_power multi_dot vecdot",
        "functional.decompositions":
            "LinAlgError cholesky cholesky_ex eig eigh eigvals eigvalsh ldl_factor ldl_factor_ex lu lu_factor lu_factor_ex "
            "qr svd svdvals",
        "functional.linalg_norm": "diagonal matrix_norm norm vector_norm",
        "functional.matmul": "matmul",
        "functional.matrix_functions": "cond det lstsq matrix_exp matrix_rank pinv slogdet",
        "functional.solving": "householder_product inv inv_ex ldl_solve lu_solve solve solve_ex solve_triangular tensorinv tensorsolve",
        "functional.statistics": "cross vander",
    },
    "FFT": {
        "functional.stft":
            "fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2 irfftn rfft "
            "rfft2 rfftfreq rfftn",
    },
}
METHODS = {
    "autograd.generated_functions":
        "abs abs_ absolute absolute_ acos acos_ acosh acosh_ add add_ addcdiv addcdiv_ addcmul addcmul_ angle arccos "
        "arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_ arctan_ arctanh arctanh_ asin "
        "asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_ bitwise_and bitwise_and_ bitwise_left_shift "
        "bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift bitwise_right_shift_ "
        "bitwise_xor bitwise_xor_ ceil ceil_ celu celu_ conj_physical conj_physical_ copysign copysign_ cos cos_ cosh "
        "cosh_ deg2rad deg2rad_ digamma digamma_ eq eq_ erf erf_ erfc erfc_ erfinv erfinv_ exp exp2 exp2_ exp_ expm1 "
        "expm1_ floor floor_ floor_divide floor_divide_ fmax fmin fmod fmod_ frac frac_ gcd gcd_ ge ge_ greater "
        "greater_ greater_equal greater_equal_ gt gt_ hardshrink heaviside heaviside_ hypot hypot_ i0 i0_ isfinite "
        "isinf isnan isneginf isposinf isreal lcm lcm_ ldexp ldexp_ le le_ lerp lerp_ less less_ less_equal less_equal_ "
        "lgamma lgamma_ log log10 log10_ log1p log1p_ log2 log2_ log_ logaddexp logaddexp2 logical_and logical_and_ "
        "logical_not logical_not_ logical_or logical_or_ logical_xor logical_xor_ lt lt_ maximum minimum mul mul_ "
        "multiply multiply_ ne ne_ neg neg_ negative negative_ not_equal not_equal_ pow_ rad2deg rad2deg_ reciprocal "
        "reciprocal_ relu relu_ remainder remainder_ rsqrt rsqrt_ selu selu_ sgn sgn_ sigmoid sigmoid_ sign sign_ "
        "signbit sin sin_ sinc sinc_ sinh sinh_ sqrt sqrt_ square square_ sub sub_ subtract subtract_ tan tan_ tanh "
        "tanh_ threshold threshold_ trunc trunc_ xlogy xlogy_",
    "functional.activation": "prelu",
    "functional.addmm": "addbmm addbmm_ addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_",
    "functional.basics":
        "_make_subclass as_strided as_subclass bfloat16 bool broadcast_to byte cdouble cfloat char chunk clone const_data_ptr "
        "contiguous copy_ cpu cuda data_ptr detach detach_ diagonal dim double expand expand_as fill_ flatten float get_device "
        "half int ipu is_complex is_contiguous is_floating_point is_inference is_nonzero is_same_size is_signed long moveaxis "
        "movedim narrow ndimension nelement numel permute ravel register_hook register_post_accumulate_grad_hook requires_grad_ "
        "reshape reshape_as resize_ retain_grad select set_ short size split split_with_sizes squeeze storage_offset stride "
        "swapaxes swapdims t to transpose type type_as unbind unflatten unfold unsafe_chunk unsafe_split unsafe_split_with_sizes "
        "unsqueeze untyped_storage view view_as xpu zero_",
    "functional.chains": "matrix_power",
    "functional.complex_parts": "adjoint conj is_conj is_neg resolve_conj resolve_neg",
    "functional.contraction": "kron",
    "functional.convert": "__array__ __array_priority__ __array_wrap__ __deepcopy__ __dlpack__ __dlpack_device__ __reduce_ex__ new numpy tolist",
    "functional.creation": "fill",
    "functional.data": "new_tensor",
    "functional.decompositions": "cholesky geqrf lu qr svd",
    "functional.dispatching": "_make_wrapper_subclass",
    "functional.distance": "dist norm renorm renorm_",
    "functional.distributions": "bernoulli multinomial",
    "functional.element_calls": "apply_ map2_ map_",
    "functional.elementwise":
        "__div__ __idiv__ __rdiv__ clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ div div_ divide divide_ "
        "float_power float_power_ pow true_divide true_divide_ where",
    "functional.float_functions":
        "fix fix_ frexp logit logit_ mvlgamma mvlgamma_ nan_to_num nan_to_num_ nextafter nextafter_ polygamma polygamma_ "
        "positive round round_",
    "functional.incomplete_gamma": "igamma igamma_ igammac igammac_",
    "functional.indexing":
        "index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_put index_put_ index_reduce index_reduce_ "
        "index_select",
    "functional.joining": "dsplit hsplit tensor_split vsplit",
    "functional.kinds": "element_size is_coalesced is_distributed is_pinned is_set_to is_shared pin_memory record_stream",
    "functional.masking": "argwhere masked_fill masked_fill_ masked_scatter masked_scatter_ masked_select nonzero put put_ take take_along_dim",
    "functional.matmul": "bmm dot ger inner matmul mm mv outer vdot",
    "functional.matrix_functions": "det logdet matrix_exp pinverse slogdet",
    "functional.memory": "__array_namespace__ dim_order share_memory_ storage storage_type to_dense to_device",
    "functional.moments": "std var",
    "functional.new_tensors": "new_empty new_empty_strided new_full new_ones new_zeros",
    "functional.part_scatters": "as_strided_scatter diagonal_scatter select_scatter slice_scatter",
    "functional.printing": "__format__",
    "functional.quantile": "mode nanquantile quantile",
    "functional.random_fills": "bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_",
    "functional.rearranging": "diag diag_embed diagflat flip fliplr flipud repeat repeat_interleave roll rot90 tile tril tril_ triu triu_",
    "functional.reduction": "all amax amin aminmax any argmax argmin count_nonzero logsumexp max mean min nanmean nansum prod sum sum_to_size",
    "functional.removed": "eig lstsq solve symeig",
    "functional.scan": "cummax cummin cumprod cumprod_ cumsum cumsum_ diff logcumsumexp",
    "functional.scattering": "gather scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_",
    "functional.searching": "bincount bucketize histc histogram isin unique unique_consecutive",
    "functional.segments": "__reversed__ fill_diagonal_ nonzero_static",
    "functional.softmax": "log_softmax softmax",
    "functional.solving": "cholesky_inverse cholesky_solve inverse lu_solve orgqr ormqr triangular_solve",
    "functional.sorting": "argsort kthvalue median msort nanmedian sort topk",
    "functional.statistics": "allclose corrcoef cov cross equal isclose trace",
    "functional.stft": "istft stft",
    "functional.view_copies": "as_strided_ narrow_copy resize resize_as resize_as_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_",
}
PROPERTIES = {
    "functional.basics": "T mT retains_grad",
    "functional.complex_parts": "H imag mH real",
    "functional.kinds": "_cdata is_ipu is_maia is_mkldnn is_mps is_mtia is_nested is_quantized is_sparse is_sparse_csr is_vulkan is_xla is_xpu name",
}
HOOKS = {
    "functional.basics": "sum_to unbind view_dtype",
    "functional.complex_parts": "derivative.conj derivative.is_complex derivative.real",
    "functional.convert": "construct",
    "functional.creation_like": "derivative.zeros_like",
    "functional.dispatching": "dispatch_call dispatch_node dispatch_operator",
    "functional.elementwise": "contains derivative.abs derivative.infinity derivative.maximum derivative.minimum derivative.pow derivative.where",
    "functional.indexing": "advanced_getitem setitem",
    "functional.matmul": "matmul",
    "functional.overriding": "function_here function_name gate_all gate_new",
    "functional.printing": "repr",
    "functional.reduction": "mean sum",
}
