//! Sources of a pack: paths, images, trees, and lists of them.

use std::path::PathBuf;

use packline::{Error, Image, Resources, Source, Tree};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::arguments::PathArgument;
use crate::image::PyImage;
use crate::tree::PyTree;

/// A source, before it is opened.
pub enum SourceArgument {
    Path(PathBuf),
    Image(Image),
    Tree(Tree),
    /// The lowest first.
    Layers(Vec<SourceArgument>),
}

impl SourceArgument {
    pub fn new(object: &Bound<'_, PyAny>) -> PyResult<SourceArgument> {
        let py = object.py();
        if let Ok(tree) = object.cast::<PyTree>() {
            return tree.get().take(py).map(SourceArgument::Tree);
        }
        if let Ok(image) = object.cast::<PyImage>() {
            return image.get().image(py).map(SourceArgument::Image);
        }
        if let Ok(entries) = object.cast::<PyDict>() {
            return PyTree::of(entries)?.take(py).map(SourceArgument::Tree);
        }
        if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            let layers = object.try_iter()?.map(|layer| SourceArgument::new(&layer?));
            return layers.collect::<PyResult<_>>().map(SourceArgument::Layers);
        }
        let path: PathArgument = object.extract().map_err(|_| {
            PyTypeError::new_err("the source is not a path, an image, a Tree, a dict, or a list of them")
        })?;
        Ok(SourceArgument::Path(path.into_host()))
    }

    /// Opens the source.
    pub fn open(self, resources: &Resources) -> Result<Source, Error> {
        match self {
            SourceArgument::Path(path) => Source::at(path, resources),
            SourceArgument::Image(image) => Ok(image.into()),
            SourceArgument::Tree(tree) => Ok(tree.into()),
            SourceArgument::Layers(layers) => {
                let opened: Result<Vec<_>, _> = layers.into_iter().map(|layer| layer.open(resources)).collect();
                let mut opened = opened?;
                // One source alone keeps its own order.
                Ok(if opened.len() == 1 { opened.swap_remove(0) } else { Source::stack(opened) })
            }
        }
    }
}
