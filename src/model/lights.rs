//! `KHR_lights_punctual`: lights that a file brings along.

use glam::Affine3A;

use super::document::{self, Document};
use super::error::Fault;
use super::warnings::Warnings;

/// Lights beyond this number are left out: each costs every pixel.
const MAX_LIGHTS: usize = 16;

/// Brighter ones are as bright as this: the sun on earth has 100,000 lux. What is without
/// end would make everything that it shines on no colour at all.
const MAX_INTENSITY: f32 = 1e9;
const MAX_COLOR: f32 = 1e3;

/// A light, where the file puts it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Light {
    /// How it shines.
    pub kind: LightKind,
    /// Linear RGB.
    pub color: [f32; 3],
    /// Lux of a directional light, candela of the others.
    pub intensity: f32,
    /// In the file's units; none for without end.
    pub range: Option<f32>,
    /// model_from_light; it shines along -z.
    pub transform: Affine3A,
}

/// How a light shines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LightKind {
    /// From far away, everywhere the same.
    Directional,
    /// From a point to all sides.
    Point,
    /// From a point into a cone.
    Spot {
        /// Radians from the axis to where it begins to fade.
        inner: f32,
        /// Radians from the axis to where it ends.
        outer: f32,
    },
}

/// The lights of the scene, by their numbers and places.
pub(super) fn read(document: &Document, placed: &[(usize, Affine3A)], warnings: &mut Warnings) -> Vec<Light> {
    let list = document.extensions.lights.as_ref().map_or(&[][..], |all| &all.lights);
    if placed.len() > MAX_LIGHTS {
        warnings.push(format_args!("the file has {} lights, {MAX_LIGHTS} of them are kept", placed.len()));
    }
    let mut lights = Vec::new();
    for &(index, transform) in placed.iter().take(MAX_LIGHTS) {
        let Some(json) = list.get(index) else {
            warnings.push(Fault::Unresolved { what: "light", index, count: list.len() });
            continue;
        };
        match kind(json) {
            Some(kind) => lights.push(Light {
                kind,
                color: json.color.unwrap_or([1.0; 3]).map(|v| v.clamp(0.0, MAX_COLOR)),
                intensity: json.intensity.unwrap_or(1.0).clamp(0.0, MAX_INTENSITY),
                range: json.range.filter(|&range| range > 0.0 && range.is_finite()),
                transform,
            }),
            None => warnings.push(format_args!("light {index} is of an unknown kind")),
        }
    }
    lights
}

fn kind(json: &document::Light) -> Option<LightKind> {
    Some(match json.kind.as_ref()?.0.as_ref() {
        "directional" => LightKind::Directional,
        "point" => LightKind::Point,
        "spot" => {
            let spot = json.spot.as_ref();
            let outer = spot.and_then(|spot| spot.outer_cone_angle).unwrap_or(std::f32::consts::FRAC_PI_4);
            let outer = outer.clamp(0.0, std::f32::consts::FRAC_PI_2);
            let inner = spot.and_then(|spot| spot.inner_cone_angle).unwrap_or(0.0).clamp(0.0, outer);
            LightKind::Spot { inner, outer }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Limits;

    #[test]
    fn lights_are_read_and_numbered() {
        let json = r#"{"extensions":{"KHR_lights_punctual":{"lights":[{"type":"point","intensity":5,"range":2},
            {"type":"spot","spot":{"outerConeAngle":9}},{"type":"area"}]}}}"#;
        let document = document::parse(json.as_bytes(), &Limits::default()).unwrap();
        let mut warnings = Warnings::default();
        let at = |number| (number, Affine3A::IDENTITY);
        let lights = read(&document, &[at(0), at(1), at(2), at(7)], &mut warnings);
        assert_eq!(
            (lights[0].kind, lights[0].intensity, lights[0].range),
            (LightKind::Point, 5.0, Some(2.0))
        );
        assert_eq!(lights[1].kind, LightKind::Spot { inner: 0.0, outer: std::f32::consts::FRAC_PI_2 });
        assert_eq!((lights.len(), warnings.into_lines().len()), (2, 2));
        assert_eq!(read(&document, &[at(0); 40], &mut Warnings::default()).len(), MAX_LIGHTS);
    }

    #[test]
    fn a_light_without_end_has_one() {
        let json = r#"{"extensions":{"KHR_lights_punctual":{"lights":[
            {"type":"point","intensity":1e300,"color":[0,1e300,-1],"range":1e300}]}}}"#;
        let document = document::parse(json.as_bytes(), &Limits::default()).unwrap();
        let lights = read(&document, &[(0, Affine3A::IDENTITY)], &mut Warnings::default());
        assert_eq!((lights[0].intensity, lights[0].range), (MAX_INTENSITY, None));
        assert_eq!(lights[0].color, [0.0, MAX_COLOR, 0.0]);
    }
}
