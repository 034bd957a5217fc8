//! Which of glTF's extensions are read, which may be left out, which stop a file.

use super::document::Document;
use super::error::DecodeError;
use super::warnings::{Warnings, quoted};

/// Read in full.
const READ: &[&str] = &[
    "KHR_mesh_quantization",
    "KHR_materials_unlit",
    "KHR_materials_emissive_strength",
    "KHR_texture_transform",
];

/// Ways of storing geometry smaller that cannot be read. Files may offer a plain copy beside.
const COMPRESSION: &[&str] =
    &["KHR_draco_mesh_compression", "EXT_meshopt_compression", "KHR_meshopt_compression"];

/// Without these a model looks a little different, but is all there.
const APPEARANCE: &[&str] = &[
    "KHR_animation_pointer",
    "KHR_lights_punctual",
    "KHR_materials_anisotropy",
    "KHR_materials_clearcoat",
    "KHR_materials_dispersion",
    "KHR_materials_ior",
    "KHR_materials_iridescence",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_sheen",
    "KHR_materials_specular",
    "KHR_materials_transmission",
    "KHR_materials_variants",
    "KHR_materials_volume",
    "KHR_xmp",
    "KHR_xmp_json_ld",
    "EXT_lights_image_based",
];

/// Refuses a file that requires what cannot be read, and warns of what is left out.
pub(super) fn check(document: &Document, warnings: &mut Warnings) -> Result<(), DecodeError> {
    // Compression first: it is what a person can do something about.
    let required = || document.extensions_required.iter().map(|name| name.0.as_ref());
    if let Some(name) = required().find(|name| COMPRESSION.contains(name)) {
        return Err(DecodeError::Compression(name.to_owned()));
    }
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
        let (result, _) =
            checked(r#"{"extensionsRequired":["KHR_mesh_quantization","KHR_draco_mesh_compression"]}"#);
        let text = result.unwrap_err().to_string();
        assert_eq!(
            text,
            "the file uses compression KHR_draco_mesh_compression, which this version cannot read"
        );
        let (result, _) = checked(r#"{"extensionsRequired":["X_new"]}"#);
        assert!(result.unwrap_err().to_string().contains("X_new"));
    }

    #[test]
    fn optional_ones_are_warnings() {
        let (result, warnings) =
            checked(r#"{"extensionsUsed":["X_new","KHR_materials_unlit","KHR_materials_ior"]}"#);
        assert!(result.is_ok());
        assert_eq!(warnings, ["extension X_new is not shown", "extension KHR_materials_ior is not shown"]);
    }
}
