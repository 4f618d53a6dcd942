//! Public types move to other threads; open images and files are shared by threads.

use packline::{
    BlockCache, CancelToken, Content, ContentOrder, Entry, Error, FileList, Finding, Image, ImageFile, Input, Output,
    Packed, Packer, PlnReader, Resources, Selection, Source, StreamOptions, Tree, TreeEntry, Unpacked, Unpacker,
};

fn is_send<T: Send>() {}
fn is_shared<T: Send + Sync>() {}

#[test]
fn public_types_are_send() {
    is_send::<Packer<'static>>();
    is_send::<Unpacker<'static>>();
    is_send::<Source>();
    is_send::<Tree>();
    is_send::<TreeEntry<'static>>();
    is_send::<Content>();
    is_send::<Input>();
    is_send::<Output>();
    is_send::<Selection>();
    is_send::<PlnReader>();
    is_send::<StreamOptions>();
    is_send::<ContentOrder>();
    is_send::<FileList>();
    is_shared::<BlockCache>();
    is_shared::<CancelToken>();
    is_shared::<Entry>();
    is_shared::<Error>();
    is_shared::<Finding>();
    is_shared::<Image>();
    is_shared::<ImageFile>();
    is_shared::<Packed>();
    is_shared::<Resources>();
    is_shared::<Unpacked>();
}
