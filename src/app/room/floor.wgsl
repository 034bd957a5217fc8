// The floor's lines: as wide as LINE or a pixel, whichever is more, and fainter
// where a pixel covers more than a line, so that nothing flickers far away.

#import bevy_pbr::{forward_io::VertexOutput, mesh_view_bindings::view}

const LINE: f32 = 0.006;
const FADE_FROM: f32 = 3.0;
const FADE_TO: f32 = 22.0;
const GROUND: vec3<f32> = vec3<f32>(0.300, 0.335, 0.370);
const LINES: vec3<f32> = vec3<f32>(0.105, 0.125, 0.150);

// How much of the pixel at `p` lines at each multiple of `step` cover.
fn lines(p: vec2<f32>, step: f32) -> f32 {
    let pixel = max(fwidth(p), vec2(1e-5));
    let width = max(vec2(LINE), pixel);
    let distance = abs(fract(p / step - 0.5) - 0.5) * step;
    let cover = (1.0 - smoothstep(width * 0.5, width * 0.5 + pixel, distance)) * min(vec2(LINE) / width * 1.5, vec2(1.0));
    // Where lines are nearer to each other than pixels there is an even grey.
    let even = clamp(pixel * 2.5 / step - 0.5, vec2(0.0), vec2(1.0));
    let calm = mix(cover, vec2(LINE / step), even);
    return max(calm.x, calm.y);
}

@fragment
fn fragment(in: VertexOutput) -> @location(0) vec4<f32> {
    let p = in.world_position.xz;
    let away = distance(in.world_position.xyz, view.world_position);
    let strength = max(lines(p, 1.0) * 0.8, lines(p, 0.5) * 0.3);
    let fade = 1.0 - smoothstep(FADE_FROM, FADE_TO, away);
    return vec4(mix(GROUND, LINES, strength), fade);
}
