//! Models for pictures, each of something that can go wrong.

use std::f32::consts::{PI, TAU};

use serde_json::{Value, json};

use crate::glb::{Glb, U8};

/// Names and files.
pub fn all() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("colours", colours()),
        ("nested", nested()),
        ("textured", textured()),
        ("modes", modes()),
        ("materials", materials()),
        ("bent", bent()),
    ]
}

/// Positions (which are the normals as well) and indices of a ball of radius 1.
fn ball(rings: u32) -> (Vec<f32>, Vec<u32>) {
    let (mut positions, mut indices) = (Vec::new(), Vec::new());
    for ring in 0..=rings {
        let polar = PI * ring as f32 / rings as f32;
        for step in 0..=2 * rings {
            let turn = TAU * step as f32 / (2 * rings) as f32;
            positions.extend([polar.sin() * turn.sin(), polar.cos(), polar.sin() * turn.cos()]);
            if ring < rings && step < 2 * rings {
                let at = ring * (2 * rings + 1) + step;
                let below = at + 2 * rings + 1;
                indices.extend([at, below, below + 1, at, below + 1, at + 1]);
            }
        }
    }
    (positions, indices)
}

/// A ball with a colour for each vertex, as a mesh and a node that places it.
fn colored_ball(glb: &mut Glb, material: usize, node: Value, color: impl Fn([f32; 3]) -> [u8; 4]) {
    let (positions, indices) = ball(24);
    let colors: Vec<u8> = positions.as_chunks::<3>().0.iter().flat_map(|&p| color(p)).collect();
    let count = positions.len() / 3;
    let (position, normal) = (glb.floats("VEC3", &positions), glb.floats("VEC3", &positions));
    let colors = glb.accessor(U8, "VEC4", count, &colors);
    glb.accessor_mut(colors)["normalized"] = json!(true);
    let indices = glb.indices(&indices);
    let at = glb.mesh(json!([{ "attributes": { "POSITION": position, "NORMAL": normal, "COLOR_0": colors },
        "indices": indices, "material": material }]));
    for (key, value) in node.as_object().unwrap() {
        glb.json["nodes"][at][key] = value.clone();
    }
}

/// As ChimeraX writes its surfaces.
fn matte() -> Value {
    json!({ "pbrMetallicRoughness": { "metallicFactor": 0, "roughnessFactor": 1 } })
}

fn colours() -> Vec<u8> {
    let mut glb = Glb::new();
    glb.json["materials"] = json!([matte()]);
    colored_ball(&mut glb, 0, json!({}), |[x, y, z]| {
        [x, y, z]
            .map(|v| if v > 0.0 { 255 } else { 40 })
            .into_iter()
            .chain([255])
            .collect::<Vec<_>>()
            .try_into()
            .unwrap()
    });
    // Mirrored: its colours are, and it is lit from the same side.
    colored_ball(&mut glb, 0, json!({ "translation": [2.2, 0, 0], "scale": [-1, 1, 1] }), |[x, ..]| {
        if x > 0.0 { [255, 160, 0, 255] } else { [0, 160, 255, 255] }
    });
    glb.build()
}

/// Isosurfaces of three levels, the inner ones first and last in the file.
fn nested() -> Vec<u8> {
    let mut glb = Glb::new();
    let mut clear = matte();
    clear["alphaMode"] = json!("BLEND");
    clear["doubleSided"] = json!(true);
    glb.json["materials"] = json!([clear, matte()]);
    colored_ball(&mut glb, 0, json!({ "scale": [0.7, 0.7, 0.7] }), |_| [0, 255, 0, 90]);
    colored_ball(&mut glb, 0, json!({}), |_| [60, 60, 255, 90]);
    colored_ball(&mut glb, 1, json!({ "scale": [0.35, 0.35, 0.35] }), |_| [255, 0, 0, 255]);
    glb.build()
}

/// A square whose texture is turned, made smaller and repeated.
fn textured() -> Vec<u8> {
    let mut png = std::io::Cursor::new(Vec::new());
    let image = image::RgbaImage::from_fn(64, 64, |x, y| {
        image::Rgba(match (x < 32, y < 32) {
            (true, true) => [255, 40, 40, 255],
            (false, true) => [40, 200, 40, 255],
            (true, false) => [40, 80, 255, 255],
            (false, false) => [250, 250, 250, 255],
        })
    });
    image.write_to(&mut png, image::ImageFormat::Png).unwrap();
    let mut glb = Glb::new();
    let view = glb.view(png.get_ref());
    glb.json["images"] = json!([{ "bufferView": view }]);
    glb.json["textures"] = json!([{ "source": 0 }]);
    let transform = json!({ "scale": [2, 2], "rotation": 0.5, "offset": [0.1, 0.3] });
    glb.json["materials"] = json!([
        { "pbrMetallicRoughness": { "metallicFactor": 0, "baseColorTexture": { "index": 0 } } },
        { "pbrMetallicRoughness": { "metallicFactor": 0, "baseColorTexture": { "index": 0, "texCoord": 1,
            "extensions": { "KHR_texture_transform": transform } } } },
    ]);
    for (material, x) in [(0, -1.1f32), (1, 0.1)] {
        let positions = glb.floats("VEC3", &[x, 0., 0., x + 1., 0., 0., x + 1., 1., 0., x, 1., 0.]);
        let normals = glb.floats("VEC3", &[0., 0., 1.].repeat(4));
        let uvs = glb.floats("VEC2", &[0., 1., 1., 1., 1., 0., 0., 0.]);
        let indices = glb.indices(&[0, 1, 2, 0, 2, 3]);
        let attributes =
            json!({ "POSITION": positions, "NORMAL": normals, "TEXCOORD_0": uvs, "TEXCOORD_1": uvs });
        glb.mesh(json!([{ "attributes": attributes, "indices": indices, "material": material }]));
    }
    facing(glb)
}

/// People see new models from their back: turned round, they see the front.
fn facing(mut glb: Glb) -> Vec<u8> {
    let roots = glb.json["scenes"][0]["nodes"].clone();
    let turned = json!({ "rotation": [0, 1, 0, 0], "children": roots });
    glb.json["nodes"].as_array_mut().unwrap().push(turned);
    let last = glb.json["nodes"].as_array().unwrap().len() - 1;
    glb.json["scenes"][0]["nodes"] = json!([last]);
    glb.build()
}

/// Each of the seven ways in which vertices make something, side by side.
fn modes() -> Vec<u8> {
    let mut glb = Glb::new();
    let around = |i: u32| TAU * i as f32 / 6.0;
    for mode in 0..7u32 {
        let (x, y) = ((mode % 4) as f32 * 2.4, -((mode / 4) as f32) * 2.4);
        let mut corners: Vec<[f32; 3]> =
            (0..6).map(|i| [x + around(i).cos(), y + around(i).sin(), 0.0]).collect();
        if mode == 5 {
            corners = [0, 1, 5, 2, 4, 3].map(|i| corners[i]).to_vec();
        }
        let positions = glb.floats("VEC3", corners.as_flattened());
        let colors: Vec<f32> = (0..6).flat_map(|i| [1.0, i as f32 / 5.0, 0.1]).collect();
        let colors = glb.floats("VEC3", &colors);
        glb.mesh(json!([{ "attributes": { "POSITION": positions, "COLOR_0": colors }, "mode": mode }]));
    }
    facing(glb)
}

/// Unlit, glowing, metal, glossy in the older way, seen from behind, and cut out.
fn materials() -> Vec<u8> {
    let mut glb = Glb::new();
    glb.json["materials"] = json!([
        { "extensions": { "KHR_materials_unlit": {} } },
        { "pbrMetallicRoughness": { "baseColorFactor": [0, 0, 0, 1] }, "emissiveFactor": [0.5, 0.1, 0.4],
          "extensions": { "KHR_materials_emissive_strength": { "emissiveStrength": 1.5 } } },
        { "pbrMetallicRoughness": { "metallicFactor": 0, "roughnessFactor": 0.2 } },
        { "extensions": { "KHR_materials_pbrSpecularGlossiness":
            { "diffuseFactor": [0.1, 0.6, 0.2, 1], "specularFactor": [0.05, 0.05, 0.05], "glossinessFactor": 0.8 } } },
        { "alphaMode": "MASK", "alphaCutoff": 0.5, "doubleSided": true,
          "pbrMetallicRoughness": { "metallicFactor": 0, "roughnessFactor": 1 } },
    ]);
    for material in 0..5usize {
        let place = json!({ "translation": [2.2 * (material % 3) as f32, -2.2 * (material / 3) as f32, 0] });
        colored_ball(&mut glb, material, place, |[_, y, _]| {
            if material == 4 && y.abs() < 0.5 { [255, 200, 0, 60] } else { [255, 200, 0, 255] }
        });
    }
    glb.build()
}

/// A rod bent by two joints, and a ball made thin by a morph target.
fn bent() -> Vec<u8> {
    let mut glb = Glb::new();
    glb.json["materials"] = json!([matte()]);
    let (mut positions, mut normals, mut weights, mut indices) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (rings, steps) = (24u32, 16u32);
    for ring in 0..=rings {
        let along = ring as f32 / rings as f32;
        for step in 0..=steps {
            let turn = TAU * step as f32 / steps as f32;
            positions.extend([0.3 * turn.cos(), 3.0 * along, 0.3 * turn.sin()]);
            normals.extend([turn.cos(), 0.0, turn.sin()]);
            weights.extend([1.0 - along, along, 0.0, 0.0]);
            if ring < rings && step < steps {
                let at = ring * (steps + 1) + step;
                let above = at + steps + 1;
                indices.extend([at, above, above + 1, at, above + 1, at + 1]);
            }
        }
    }
    let count = positions.len() / 3;
    let (position, normal) = (glb.floats("VEC3", &positions), glb.floats("VEC3", &normals));
    let weight = glb.floats("VEC4", &weights);
    let joints = glb.accessor(U8, "VEC4", count, &[0, 1, 0, 0].repeat(count));
    let index = glb.indices(&indices);
    let attributes =
        json!({ "POSITION": position, "NORMAL": normal, "JOINTS_0": joints, "WEIGHTS_0": weight });
    glb.mesh(json!([{ "attributes": attributes, "indices": index, "material": 0 }]));
    glb.json["nodes"][0]["skin"] = json!(0);
    let (sin, cos) = (PI / 6.0).sin_cos();
    let first = glb.node(json!({}));
    let second = glb.node(json!({ "rotation": [0, 0, sin, cos] }));
    glb.json["skins"] = json!([{ "joints": [first, second] }]);
    let (ball, indices) = ball(24);
    let thinner: Vec<f32> =
        ball.as_chunks::<3>().0.iter().flat_map(|&[x, ..]| [-0.7 * x, 0.0, 0.0]).collect();
    let (position, normal) = (glb.floats("VEC3", &ball), glb.floats("VEC3", &ball));
    let (delta, index) = (glb.floats("VEC3", &thinner), glb.indices(&indices));
    let node = glb.mesh(json!([{ "attributes": { "POSITION": position, "NORMAL": normal },
        "targets": [{ "POSITION": delta }], "indices": index, "material": 0 }]));
    glb.json["nodes"][node]["weights"] = json!([1.0]);
    glb.json["nodes"][node]["translation"] = json!([2.0, 1.0, 0.0]);
    glb.build()
}
