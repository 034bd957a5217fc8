//! Which of glTF's extensions are read, which may be left out, which stop a file.

use super::document::Document;
use super::error::DecodeError;
use super::warnings::{Warnings, quoted};

/// Read in full.
const READ: &[&str] = &[
    "EXT_mesh_gpu_instancing",
    "EXT_meshopt_compression",
    "EXT_texture_webp",
    "KHR_draco_mesh_compression",
    "KHR_lights_punctual",
    "KHR_materials_emissive_strength",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_unlit",
    "KHR_mesh_quantization",
    "KHR_meshopt_compression",
    "KHR_node_visibility",
    "KHR_texture_transform",
];

/// Without these a model looks a little different, but is all there.
const APPEARANCE: &[&str] = &[
    "KHR_animation_pointer",
    "KHR_materials_anisotropy",
    "KHR_materials_clearcoat",
    "KHR_materials_diffuse_transmission",
    "KHR_materials_dispersion",
    "KHR_materials_ior",
    "KHR_materials_iridescence",
    "KHR_materials_sheen",
    "KHR_materials_specular",
    "KHR_materials_transmission",
    "KHR_materials_variants",
    "KHR_materials_volume",
    "KHR_techniques_webgl",
    "KHR_texture_basisu",
    "KHR_xmp",
    "KHR_xmp_json_ld",
    "EXT_lights_image_based",
];

/// Refuses a file that requires what cannot be read, and warns of what is left out.
pub(super) fn check(document: &Document, warnings: &mut Warnings) -> Result<(), DecodeError> {
    let required = || document.extensions_required.iter().map(|name| name.0.as_ref());
    if let Some(name) = required().find(|name| !READ.contains(name) && !APPEARANCE.contains(name)) {
        return Err(DecodeError::Extension(quoted(name)));
    }
    let used = document.extensions_used.iter().map(|name| name.0.as_ref());
    for name in used.chain(required()).filter(|name| !READ.contains(name)) {
        warnings.push(format_args!("extension {} is not shown", quoted(name)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Limits, document};

    fn checked(json: &str) -> (Result<(), DecodeError>, Vec<String>) {
        let mut warnings = Warnings::default();
        let document = document::parse(json.as_bytes(), &Limits::default()).unwrap();
        (check(&document, &mut warnings), warnings.into_lines())
    }

    #[test]
    fn required_extensions_are_named() {
        let (result, _) = checked(r#"{"extensionsRequired":["KHR_mesh_quantization","X_new"]}"#);
        let text = result.unwrap_err().to_string();
        assert_eq!(text, "the file requires the extension X_new, which this version cannot read");
        assert!(checked(r#"{"extensionsRequired":["KHR_draco_mesh_compression"]}"#).0.is_ok());
    }

    #[test]
    fn optional_ones_are_warnings() {
        let (result, warnings) =
            checked(r#"{"extensionsUsed":["X_new","KHR_materials_unlit","KHR_materials_ior"]}"#);
        assert!(result.is_ok());
        assert_eq!(warnings, ["extension X_new is not shown", "extension KHR_materials_ior is not shown"]);
    }
}
