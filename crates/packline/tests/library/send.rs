//! Public types move to other threads; open images and files are shared by threads.

use packline::{
    BlockCache, CancelToken, Content, ContentOrder, Entry, Error, FileList, Finding, Image, ImageFile, Input, Output,
    Packed, Packer, PlnReader, Resources, Selection, Source, StreamOptions, Tree, TreeEntry, Unpacked, Unpacker,
    requests,
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

#[test]
fn requests_are_send() {
    is_send::<requests::PackRequest>();
    is_send::<requests::PackContainer>();
    is_send::<requests::ImageRequest>();
    is_send::<requests::LrzRequest>();
    is_send::<requests::ImageOptions>();
    is_send::<requests::Changes>();
    is_send::<requests::EntryEdit>();
    is_send::<requests::AttributeOverrides>();
    is_send::<requests::NewRoot>();
    is_send::<requests::Unsupported>();
    is_send::<requests::Hints>();
    is_send::<requests::List>();
    is_send::<requests::Part>();
    is_send::<requests::Stack>();
    is_send::<requests::AppendTo>();
    is_send::<requests::BaseImage>();
    is_send::<requests::BaseBlocks>();
    is_send::<requests::UnpackRequest>();
    is_send::<requests::Destination>();
    is_send::<requests::LrzUnpackRequest<'static>>();
    is_send::<requests::PlnUnpackRequest>();
    is_send::<requests::CompressRequest<StreamOptions>>();
    is_send::<requests::DeltaRequest>();
    is_send::<requests::PatchRequest>();
    is_send::<requests::ProtectRequest>();
    is_send::<requests::RepairRequest>();
    is_send::<requests::VerityRequest>();
    is_send::<requests::VerityCheck>();
    is_send::<requests::VerityOptions>();
    is_send::<requests::OciImage>();
    is_send::<requests::OciPlace>();
    is_send::<requests::Platform>();
}

#[test]
fn results_and_opened_files_are_send() {
    is_send::<requests::Archive>();
    is_send::<requests::ArchiveOptions<'static>>();
    is_send::<requests::OpenedTar>();
    is_send::<requests::OpenedFile>();
    is_send::<requests::OpenedLrz>();
    is_send::<requests::ImagePlace>();
    is_send::<requests::SquashFsImage>();
    is_send::<requests::ErofsImage>();
    is_send::<requests::AppendedTree>();
    is_send::<requests::ContentKind>();
    is_send::<requests::FileKind>();
    is_send::<requests::SuperblockChecksum>();
    is_send::<requests::DryRun>();
    is_send::<requests::ImageSummary>();
    is_send::<requests::PackSummary>();
    is_send::<requests::WrittenImage>();
    is_send::<requests::WrittenEnd>();
    is_send::<requests::UnpackSummary>();
    is_send::<requests::TarTreeCounts>();
    is_send::<requests::PlnInfo>();
    is_send::<requests::PlnFinding>();
    is_send::<requests::Encryption>();
    is_send::<requests::RecoveryState>();
    is_send::<requests::VeritySummary>();
}
