//! Files in a temporary folder, packed.

use super::*;
use crate::model::testing::Glb;
use crate::model::{Cancel, decode};

fn read(path: &Path) -> Result<Packed, PackError> {
    read_model_file(path, &Limits::default())
}

/// A quad as a `.gltf` whose buffer is at `uri`; returns the buffer's bytes.
fn gltf(path: &Path, uri: &str) -> Vec<u8> {
    let mut glb = Glb::quad();
    glb.json["buffers"] = json!([{ "byteLength": glb.bin.len(), "uri": uri }]);
    fs::write(path, glb.json.to_string()).unwrap();
    glb.bin
}

fn png() -> Vec<u8> {
    let mut png = io::Cursor::new(Vec::new());
    image::RgbaImage::new(2, 2).write_to(&mut png, image::ImageFormat::Png).unwrap();
    png.into_inner()
}

#[test]
fn a_glb_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("#Unicode❤ 100%.glb");
    let mut bytes = Glb::quad().build();
    bytes.extend(b"trailing");
    fs::write(&path, &bytes).unwrap();
    let packed = read(&path).unwrap();
    assert_eq!((packed.glb, packed.name.as_str()), (bytes, "#Unicode❤ 100%"));
}

#[test]
fn side_files_are_packed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.gltf");
    fs::create_dir(folder.path().join("a b")).unwrap();
    for (uri, file) in
        [("a%20b/%e2%9d%a4.bin", "a b/❤.bin"), ("./a b/+#.bin", "a b/+#.bin"), ("50%.bin", "50%.bin")]
    {
        let bin = gltf(&path, uri);
        fs::write(folder.path().join(file), bin).unwrap();
        let packed = read(&path).unwrap();
        let model = decode(&packed.glb, &Limits::default(), &Cancel::default()).unwrap();
        assert_eq!(model.counts.triangles, 2);
        assert!(model.warnings.is_empty(), "{:?}", model.warnings);
    }
}

#[test]
fn buffers_and_images_share_the_binary_chunk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.gltf");
    let mut glb = Glb::quad();
    let first = glb.bin.clone();
    let uvs: Vec<u8> = [0.5f32; 8].iter().flat_map(|v| v.to_le_bytes()).collect();
    // A placeholder without data, then a second buffer that is embedded.
    glb.json["buffers"] = json!([
        { "byteLength": 5 }, { "byteLength": first.len(), "uri": "first.bin" },
        { "byteLength": uvs.len(), "uri": "data:;base64,AAAAPwAAAD8AAAA/AAAAPwAAAD8AAAA/AAAAPwAAAD8=" },
    ]);
    for view in glb.json["bufferViews"].as_array_mut().unwrap() {
        view["buffer"] = json!(1.0);
    }
    let view = glb.json["bufferViews"].as_array().unwrap().len();
    let accessor = glb.json["accessors"].as_array().unwrap().len();
    glb.json["bufferViews"].as_array_mut().unwrap().push(json!({ "buffer": 2, "byteLength": 32 }));
    glb.json["accessors"].as_array_mut().unwrap().push(json!({
        "bufferView": view, "componentType": 5126, "type": "VEC2", "count": 4,
    }));
    glb.json["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_0"] = json!(accessor);
    glb.json["meshes"][0]["primitives"][0]["material"] = json!(0);
    glb.json["materials"] = json!([{ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } },
        "emissiveTexture": { "index": 1 } }]);
    glb.json["textures"] = json!([{ "source": 0 }, { "source": 1 }]);
    glb.json["images"] = json!([{ "uri": "i.png" }, { "uri": "./i.png" }]);
    fs::write(folder.path().join("first.bin"), first).unwrap();
    fs::write(folder.path().join("i.png"), png()).unwrap();
    fs::write(&path, format!("\u{feff}{}", glb.json)).unwrap();
    let packed = read(&path).unwrap();
    let model = decode(&packed.glb, &Limits::default(), &Cancel::default()).unwrap();
    assert_eq!(model.primitives[0].uvs, Some(vec![[0.5; 2]; 4].into()));
    assert_eq!(model.textures.len(), 2);
    assert!(model.warnings.is_empty(), "{:?}", model.warnings);
    let pngs = packed.glb.windows(4).filter(|window| *window == b"\x89PNG").count();
    assert_eq!(pngs, 1, "a file that is named twice is packed once");
}

#[test]
fn an_image_without_any_buffer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.gltf");
    fs::write(folder.path().join("i.png"), png()).unwrap();
    fs::write(&path, r#"{"asset":{"version":"2.0"},"images":[{"uri":"i.png"}]}"#).unwrap();
    let glb = read(&path).unwrap().glb;
    let text = String::from_utf8_lossy(&glb);
    assert!(text.contains(r#""bufferView":0"#) && text.contains(r#""mimeType":"image/png""#), "{text}");
}

#[test]
fn a_glb_with_side_files_is_packed_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut glb = crate::model::testing::Glb::quad();
    glb.json["images"] = serde_json::json!([{ "uri": "a%20b.png" }, { "uri": "../none.png" }]);
    fs::write(folder.path().join("a b.png"), png()).unwrap();
    let path = folder.path().join("x.glb");
    fs::write(&path, glb.build()).unwrap();
    let packed = read(&path).unwrap();
    assert_eq!(packed.warnings.len(), 1, "{:?}", packed.warnings);
    assert!(packed.warnings[0].starts_with("image 1 is not shown: the side file \"../none.png\""));
    let model =
        crate::model::decode(&packed.glb, &Limits::default(), &crate::model::Cancel::default()).unwrap();
    assert_eq!((model.counts.triangles, model.warnings.len()), (2, 0), "{:?}", model.warnings);
    // Its own name is not its own any more, so that what travels is whole.
    assert!(!String::from_utf8_lossy(&packed.glb).contains("a%20b"));
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("model");
    fs::create_dir(&folder).unwrap();
    fs::write(outer.path().join("secret.bin"), "secret").unwrap();
    let path = folder.join("x.gltf");
    let absolute = outer.path().join("secret.bin");
    for uri in
        ["../secret.bin", "%2e%2e/secret.bin", "a/../../secret.bin", "http://x/y.bin", "file:///etc/passwd"]
    {
        gltf(&path, uri);
        assert!(matches!(read(&path), Err(PackError::Outside(_))), "{uri}");
    }
    gltf(&path, absolute.to_str().unwrap());
    assert!(matches!(read(&path), Err(PackError::Outside(_))));
    gltf(&path, "nowhere.bin");
    assert!(read(&path).unwrap_err().to_string().starts_with("the side file \"nowhere.bin\" cannot be read"));
    gltf(&path, ".");
    assert!(matches!(read(&path), Err(PackError::NotAFile(_))));
}

#[cfg(unix)]
#[test]
fn symbolic_links_must_stay_within() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("model");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("x.gltf");
    let bin = gltf(&path, "link.bin");
    fs::write(outer.path().join("outside.bin"), &bin).unwrap();
    std::os::unix::fs::symlink("../outside.bin", folder.join("link.bin")).unwrap();
    assert!(matches!(read(&path), Err(PackError::Outside(_))));
    fs::remove_file(folder.join("link.bin")).unwrap();
    fs::write(folder.join("inside.bin"), &bin).unwrap();
    std::os::unix::fs::symlink("inside.bin", folder.join("link.bin")).unwrap();
    assert!(read(&path).is_ok());
}

#[test]
fn sizes_are_limited_before_reading() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.glb");
    File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(error.ends_with("has 1099511627776 bytes, more than the limit of 268435456"), "{error}");
    let path = folder.path().join("x.gltf");
    gltf(&path, "big.bin");
    File::create(folder.path().join("big.bin")).unwrap().set_len(1 << 40).unwrap();
    assert!(matches!(read(&path), Err(PackError::TooLarge { .. })));
    assert!(matches!(read(folder.path()), Err(PackError::NotAFile(_))));
    assert!(matches!(read(&folder.path().join("none")), Err(PackError::Read { .. })));
}

#[test]
fn other_files_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.gltf");
    for (text, fits) in [("solid stl", false), ("[1]", false), ("{\"buffers\":3}", false), ("{}", true)] {
        fs::write(&path, text).unwrap();
        assert_eq!(read(&path).is_ok(), fits, "{text}");
    }
}
