// The background's colour by the height of the view: steep at the horizon, so
// that most of the view is calm.

#import bevy_pbr::{forward_io::VertexOutput, mesh_view_bindings::view}

struct Colours {
    horizon: vec4<f32>,
    top: vec4<f32>,
    bottom: vec4<f32>,
}

@group(#{MATERIAL_BIND_GROUP}) @binding(0) var<uniform> colours: Colours;

@fragment
fn fragment(in: VertexOutput) -> @location(0) vec4<f32> {
    let height = normalize(in.world_position.xyz - view.world_position).y;
    let end = select(colours.bottom, colours.top, height > 0.0);
    return mix(colours.horizon, end, sqrt(abs(height)));
}
