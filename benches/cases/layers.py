"""Losses, convolution, pooling, normalisation, padding, sampling, attention, recurrent cells."""


def _losses():
    plain = """mse_loss l1_loss smooth_l1_loss huber_loss poisson_nll_loss""".split()
    cases = {name: f"F.{name}(m,m2)" for name in plain} | {name + ".none": f"F.{name}(m,m2,reduction='none')" for name in plain}
    return cases | {
        "soft_margin_loss": "F.soft_margin_loss(m,signs)", "soft_margin_loss.none": "F.soft_margin_loss(m,signs,reduction='none')",
        "cross_entropy": "F.cross_entropy(m,ir)", "cross_entropy.smooth": "F.cross_entropy(m,ir,label_smoothing=0.1)",
        "cross_entropy.soft": "F.cross_entropy(m,pm)", "cross_entropy.image": "F.cross_entropy(img,classes)",
        "linear_cross_entropy": "F.linear_cross_entropy(m,m2,ir)", "nll_loss": "F.nll_loss(m,ir)", "nll_loss.image": "F.nll_loss(img,classes)",
        "binary_cross_entropy": "F.binary_cross_entropy(pm,pm2)", "binary_cross_entropy_with_logits": "F.binary_cross_entropy_with_logits(m,pm)",
        "kl_div": "F.kl_div(m,pm,reduction='sum')", "gaussian_nll_loss": "F.gaussian_nll_loss(m,m2,pm)",
        "ctc_loss": "F.ctc_loss(steps,labels,step_lengths,label_lengths)", "hinge_embedding_loss": "F.hinge_embedding_loss(m,signs)",
        "margin_ranking_loss": "F.margin_ranking_loss(m,m2,signs)", "multi_margin_loss": "F.multi_margin_loss(m,ir)",
        "multilabel_margin_loss": "F.multilabel_margin_loss(few,few_targets)",
        "multilabel_soft_margin_loss": "F.multilabel_soft_margin_loss(m,pm)", "triplet_margin_loss": "F.triplet_margin_loss(m,m2,pm)",
        "triplet_margin_with_distance_loss": "F.triplet_margin_with_distance_loss(m,m2,pm)",
        "cosine_embedding_loss": "F.cosine_embedding_loss(m,m2,signs[0])",
    }


CASES = {
    "losses": _losses(),
    "convolution": {
        "conv1d": "F.conv1d(line,line_w)", "conv2d": "F.conv2d(img,weight,padding=1)", "conv2d.strided": "F.conv2d(img,weight,stride=2)",
        "conv2d.one": "F.conv2d(img,weight[:,:,:1,:1])", "conv2d.depthwise": "F.conv2d(img,weight[:,:1],groups=ch,padding=1)",
        "conv2d.bfloat16": "F.conv2d(img.bfloat16(),weight.bfloat16(),padding=1)",
        "conv2d.float64": "F.conv2d(img.double(),weight.double(),padding=1)", "conv3d": "F.conv3d(vol,vol_w)",
        "conv_transpose1d": "F.conv_transpose1d(line,line_w)", "conv_transpose2d": "F.conv_transpose2d(img,weight,stride=2)",
        "conv_transpose3d": "F.conv_transpose3d(vol,vol_w)", "unfold": "F.unfold(img,3)",
        "fold": "F.fold(F.unfold(img,2,stride=2),(hw,hw),2,stride=2)", "conv_tbc": "t.conv_tbc(steps,tbc_w,tbc_b)",
        "convolution": "t.convolution(img,weight,None,(1,1),(0,0),(1,1),False,(0,0),1)",
    },
    "pooling": {
        "max_pool1d": "F.max_pool1d(line,2)", "max_pool2d": "F.max_pool2d(img,2)", "max_pool2d.three": "F.max_pool2d(img,3,2,1)",
        "max_pool2d_with_indices_backward": "t.ops.aten.max_pool2d_with_indices_backward(halved,img,[2,2],[2,2],[0,0],[1,1],False,positions)",
        "max_pool3d": "F.max_pool3d(vol,2)", "max_pool1d_with_indices": "F.max_pool1d(line,2,return_indices=True)",
        "max_pool2d_with_indices": "F.max_pool2d(img,2,return_indices=True)", "max_pool3d_with_indices": "F.max_pool3d(vol,2,return_indices=True)",
        "avg_pool1d": "F.avg_pool1d(line,2)", "avg_pool2d": "F.avg_pool2d(img,2)", "avg_pool2d.three": "F.avg_pool2d(img,3,2,1)",
        "avg_pool3d": "F.avg_pool3d(vol,2)", "adaptive_avg_pool1d": "F.adaptive_avg_pool1d(line,3)",
        "adaptive_avg_pool2d": "F.adaptive_avg_pool2d(img,3)", "adaptive_avg_pool2d.one": "F.adaptive_avg_pool2d(img,1)",
        "adaptive_avg_pool3d": "F.adaptive_avg_pool3d(vol,2)", "adaptive_max_pool1d": "F.adaptive_max_pool1d(line,3)",
        "adaptive_max_pool2d": "F.adaptive_max_pool2d(img,3)", "adaptive_max_pool3d": "F.adaptive_max_pool3d(vol,2)",
        "adaptive_max_pool1d_with_indices": "F.adaptive_max_pool1d(line,3,return_indices=True)",
        "adaptive_max_pool2d_with_indices": "F.adaptive_max_pool2d(img,3,return_indices=True)",
        "adaptive_max_pool3d_with_indices": "F.adaptive_max_pool3d(vol,2,return_indices=True)", "lp_pool1d": "F.lp_pool1d(line.abs(),2.0,2)",
        "lp_pool2d": "F.lp_pool2d(img.abs(),2.0,2)", "lp_pool3d": "F.lp_pool3d(vol.abs(),2.0,2)",
        "max_unpool1d": "F.max_unpool1d(*F.max_pool1d(line,2,return_indices=True),2)",
        "max_unpool2d": "F.max_unpool2d(*F.max_pool2d(img,2,return_indices=True),2)",
        "max_unpool3d": "F.max_unpool3d(*F.max_pool3d(vol,2,return_indices=True),2)",
        "fractional_max_pool2d": "F.fractional_max_pool2d(img,2,output_ratio=(0.6,0.6))",
        "fractional_max_pool2d_with_indices": "F.fractional_max_pool2d(img,2,output_ratio=(0.6,0.6),return_indices=True)",
        "fractional_max_pool3d": "F.fractional_max_pool3d(vol,2,output_ratio=(0.6,0.6,0.6))",
        "fractional_max_pool3d_with_indices": "F.fractional_max_pool3d(vol,2,output_ratio=(0.6,0.6,0.6),return_indices=True)",
    },
    "normalisation": {
        "batch_norm": "F.batch_norm(img,None,None,scale,shift,True)", "batch_norm.eval": "F.batch_norm(img,shift,scale.abs()+0.5,scale,shift)",
        "batch_norm.rows": "F.batch_norm(m,None,None,None,None,True)", "layer_norm": "F.layer_norm(m,(r,),ones_r,ones_r)",
        "layer_norm.float64": "F.layer_norm(dm,(r,))", "layer_norm.bfloat16": "F.layer_norm(em,(r,))",
        "group_norm": "F.group_norm(img,2,scale,shift)", "instance_norm": "F.instance_norm(img)", "rms_norm": "F.rms_norm(m,(r,),ones_r)",
        "local_response_norm": "F.local_response_norm(img,3)", "native_layer_norm": "t.native_layer_norm(m,(r,),ones_r,ones_r,1e-5)",
        "native_batch_norm": "t.native_batch_norm(img,scale,shift,None,None,True,0.1,1e-5)",
        "native_group_norm": "t.native_group_norm(img,scale,shift,img.shape[0],ch,hw*hw,2,1e-5)",
    },
    "padding": {
        "pad": "F.pad(img,(1,1,1,1))", "pad.reflect": "F.pad(img,(1,2,1,2),mode='reflect')",
        "pad.replicate": "F.pad(img,(1,2,1,2),mode='replicate')", "pad.circular": "F.pad(img,(1,2,1,2),mode='circular')",
        "pad.row": "F.pad(m,(3,3))", "pad.reflect1d": "F.pad(line,(3,3),mode='reflect')",
        "pad.replicate3d": "F.pad(vol,(1,1,1,1,1,1),mode='replicate')", "constant_pad_nd": "t.constant_pad_nd(m,(1,1),2.0)",
    },
    "interpolation": {
        "upsample": "F.upsample(img,scale_factor=2)", "upsample_bilinear": "F.upsample_bilinear(img,scale_factor=2)",
        "upsample_nearest": "F.upsample_nearest(img,scale_factor=2)", "interpolate": "F.interpolate(img,scale_factor=2)",
        "interpolate.bilinear": "F.interpolate(img,scale_factor=2,mode='bilinear')",
        "interpolate.bicubic": "F.interpolate(img,scale_factor=2,mode='bicubic')",
        "interpolate.smaller": "F.interpolate(img,scale_factor=0.5,mode='bilinear')",
        "interpolate.antialias": "F.interpolate(img,scale_factor=0.5,mode='bilinear',antialias=True)",
        "interpolate.area": "F.interpolate(img,scale_factor=0.5,mode='area')",
        "interpolate.linear": "F.interpolate(line,scale_factor=2.0,mode='linear')",
        "interpolate.trilinear": "F.interpolate(vol,scale_factor=2,mode='trilinear')",
        "interpolate.nearest3d": "F.interpolate(vol,scale_factor=2)",
        "interpolate.exact": "F.interpolate(img,scale_factor=2,mode='nearest-exact')",
        "interpolate.corners": "F.interpolate(img,scale_factor=2,mode='bilinear',align_corners=True)",
        "grid_sample": "F.grid_sample(img,grid,align_corners=False)",
        "grid_sample.nearest": "F.grid_sample(img,grid,mode='nearest',align_corners=False)",
        "grid_sample.bicubic": "F.grid_sample(img,grid,mode='bicubic',align_corners=False)",
        "grid_sample.border": "F.grid_sample(img,grid,padding_mode='border',align_corners=True)",
        "grid_sample.volume": "F.grid_sample(vol,grid3,align_corners=False)", "grid_sampler": "t.grid_sampler(img,grid,0,0,False)",
        "grid_sampler_2d": "t.grid_sampler_2d(img,grid,0,0,False)", "grid_sampler_3d": "t.grid_sampler_3d(vol,grid3,0,0,False)",
        "affine_grid": "F.affine_grid(angles,img.shape,align_corners=False)",
        "affine_grid_generator": "t.affine_grid_generator(angles,img.shape,False)",
    },
    "attention": {
        "scaled_dot_product_attention": "F.scaled_dot_product_attention(heads,heads,heads)",
        "scaled_dot_product_attention.causal": "F.scaled_dot_product_attention(heads,heads,heads,is_causal=True)",
        "multi_head_attention_forward": "F.multi_head_attention_forward(steps,steps,steps,ch,2,in_w,in_b,None,None,False,0.0,in_w[:ch],None)",
    },
    "recurrent": {
        "lstm": "t.lstm(steps,(state[None],state[None]),rnn_w4,True,1,0.0,False,False,False)",
        "gru": "t.gru(steps,state[None],rnn_w3,True,1,0.0,False,False,False)",
        "rnn_tanh": "t.rnn_tanh(steps,state[None],rnn_w1,True,1,0.0,False,False,False)",
        "rnn_relu": "t.rnn_relu(steps,state[None],rnn_w1,True,1,0.0,False,False,False)", "lstm_cell": "t.lstm_cell(state,(state,state),*rnn_w4)",
        "gru_cell": "t.gru_cell(state,state,*rnn_w3)", "rnn_tanh_cell": "t.rnn_tanh_cell(state,state,*rnn_w1)",
        "rnn_relu_cell": "t.rnn_relu_cell(state,state,*rnn_w1)",
    },
}

GRADIENTS = [name for family in ("losses", "convolution", "pooling", "normalisation", "padding", "interpolation", "attention")
             for name in CASES[family] if not name.startswith(("affine_grid_", "max_unpool", "native_", "ctc", "convolution", "grid_sampler", "multi_head"))]
