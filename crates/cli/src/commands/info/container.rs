//! `packline info` of a container image shows its layers and what its config says. It reads no layer except the first bytes.

use packline::requests::{OciDetails, OciImage, OciLayer, OciPlace};
use serde_json::{Map, Value, json};

use crate::ui::escape::escaped;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::{both, show_bytes};

/// Members of the config that are shown, with their labels.
const SHOWN: [(&str, &str); 7] = [
    ("Entrypoint", "Entrypoint"),
    ("Cmd", "Command"),
    ("WorkingDir", "Directory"),
    ("User", "User"),
    ("StopSignal", "Stop signal"),
    ("ExposedPorts", "Ports"),
    ("Volumes", "Volumes"),
];

pub fn run(place: &OciPlace, image: &OciImage, json: bool, io: &mut Io) -> Result<(), Failure> {
    let layers = image.layers.iter().map(Layer::of).collect::<Result<Vec<_>, _>>()?;
    let text = if json {
        format!("{}\n", object(place, &image.details, &layers))
    } else {
        text(place, &image.details, &layers)
    };
    io.print_as(json, &text)
}

/// The values of a layer.
struct Layer<'i> {
    layer: &'i OciLayer,
    compression: Option<String>,
}

impl Layer<'_> {
    fn of(layer: &OciLayer) -> Result<Layer<'_>, Failure> {
        let compression = layer.compression().map_err(packline::Error::from)?;
        Ok(Layer { layer, compression: compression.map(|format| format.to_string()) })
    }

    fn text(&self) -> String {
        let compression = self.compression.as_deref().unwrap_or("not compressed");
        let layer = self.layer;
        let digest = layer.digest().unwrap_or(layer.diff_id());
        let media_type = layer.media_type.as_deref().map(|found| format!(", {}", shown(found))).unwrap_or_default();
        format!("{} ({compression}), {digest}{media_type}", show_bytes(layer.size()))
    }

    fn object(&self) -> Value {
        json!({
            "digest": self.layer.digest().map(ToString::to_string),
            "diff_id": self.layer.diff_id().to_string(),
            "media_type": self.layer.media_type,
            "size": self.layer.size(),
            "compression": self.compression,
        })
    }
}

fn text(place: &OciPlace, details: &OciDetails, layers: &[Layer<'_>]) -> String {
    let mut lines = vec![("Format", place.form_name().to_string())];
    lines.extend(details.tags.iter().map(|tag| ("Tag", shown(tag))));
    lines.extend(details.platform.as_ref().map(|platform| ("Platform", shown(&platform.to_string()))));
    lines.extend(details.created.as_deref().map(|created| ("Created", shown(created))));
    lines.extend(
        details
            .manifest
            .as_ref()
            .map(|(media_type, digest)| ("Manifest", format!("{}, {}", shown(digest), shown(media_type)))),
    );
    lines.extend(details.config.as_deref().map(|digest| ("Config", shown(digest))));
    let run = details.run.as_ref().and_then(Value::as_object);
    lines.extend(run.into_iter().flat_map(run_lines));
    let size = layers.iter().map(|layer| layer.layer.size()).fold(0, u64::saturating_add);
    lines.push(("Layers", format!("{}, {}", layers.len(), both(size))));
    let mut text: String = lines.iter().map(|(what, value)| format!("{:<12} {value}\n", format!("{what}:"))).collect();
    for (number, layer) in (1..).zip(layers) {
        text.push_str(&format!("{:<12} {}\n", format!("Layer {number}:"), layer.text()));
    }
    text
}

/// The lines about how a container is run. Empty values are left out.
fn run_lines(run: &Map<String, Value>) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    for (key, label) in SHOWN {
        match run.get(key) {
            Some(Value::String(text)) if !text.is_empty() => lines.push((label, shown(text))),
            // Words may have spaces.
            Some(words @ Value::Array(list)) if !list.is_empty() => lines.push((label, shown(&words.to_string()))),
            Some(Value::Object(keys)) if !keys.is_empty() => {
                lines.push((label, keys.keys().map(|key| shown(key)).collect::<Vec<_>>().join(", ")));
            }
            _ => {}
        }
    }
    let variables = run.get("Env").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    lines.extend(variables.map(|variable| ("Environment", shown(variable))));
    let labels = run.get("Labels").and_then(Value::as_object).into_iter().flatten();
    lines.extend(labels.map(|(key, value)| ("Label", shown(&format!("{key}={}", value.as_str().unwrap_or_default())))));
    lines
}

fn object(place: &OciPlace, details: &OciDetails, layers: &[Layer<'_>]) -> Value {
    let manifest = details.manifest.as_ref();
    json!({
        "format": place.form_name(),
        "tags": details.tags,
        "platform": details.platform.as_ref().map(ToString::to_string),
        "created": details.created,
        "manifest_digest": manifest.map(|(_, digest)| digest),
        "manifest_media_type": manifest.map(|(media_type, _)| media_type),
        "config_digest": details.config,
        "config": details.run,
        "size": layers.iter().map(|layer| layer.layer.size()).fold(0, u64::saturating_add),
        "layers": layers.iter().map(Layer::object).collect::<Vec<_>>(),
    })
}

/// Text of a document on one line.
fn shown(text: &str) -> String {
    escaped(text.as_bytes())
}
