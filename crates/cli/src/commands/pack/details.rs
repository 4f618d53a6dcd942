//! The text of the help of `packline pack` after its options.

use packline::requests::FileKind;

use crate::args::patterns;

/// The text after the options in the help, and the sections of the manual page before the language of patterns. [`details`]
/// replaces `SQUASHFS_ENDINGS` and `EROFS_ENDINGS`.
const DETAILS: &str = "\
SOURCE is a directory, a tar or a cpio archive (plain or compressed), a zip archive, an image, the URL of one (https://HOST/FILE), a container image \
(oci:DIR[:TAG], oci-archive:FILE[:TAG], docker-archive:FILE[:TAG] or docker://IMAGE), or any other file. IMAGE is a file (SquashFS: SQUASHFS_ENDINGS, or a name without \
an ending; EROFS: EROFS_ENDINGS), a block device, a pipe, - for standard output, a tar (.tar, .tar.gz, .tar.xz, .tar.zst, .tar.bz2) or a .lrz file. The image appears under its name when it is complete.\n\
# Several sources\n\
One directory becomes the root. Several directories and files are put side by side, each under the last name of \
its path; two sources with the same name are an error. The root is then owned by root, with mode 755 and time 0, \
and patterns match paths in the image. A single source that is a symbolic link is followed. Among several sources a \
symbolic link is stored as a link, unless --dereference is given. A file with names in several sources is stored \
once, with hard links.\n\
# Layers\n\
--overlay merges the sources into one root. Each source is a layer over the earlier ones, as with umoci and \
podman. Directories at the same path are merged, with the attributes of the last one. Any other entry replaces the \
earlier one. A file is put into the root. The image has the same bytes as an image of the merged directory.\n\
Sources are merged without --overlay too if a tar, an image, a container image or standard input is given with at \
most one directory or file. With more of them, packline requires --overlay. The summary reports how many entries \
were replaced.\n\
In layers, options for directories apply to each directory, and options for tars to each tar and container \
layer. --exclude leaves entries out of each source; --remove removes entries from the merged result. Whiteouts are the files .wh.NAME \
and .wh..wh..opq of AUFS, and the devices 0:0 and the attribute overlay.opaque of overlayfs.\n\
# Zip archives\n\
Entries are packed in the order of the archive. Contents may be stored, or compressed with deflate, bzip2, lzma, xz or zstd. \
packline rejects encrypted entries and archives of several parts. Times of MS-DOS have no time zone; they are taken as \
UTC, unless the archive has exact times too. Files without permissions of Unix get mode 644, directories 755; entries \
without owners belong to root. Among several sources, a zip archive is stored as a file, because documents and \
programs are zip archives too. A zip archive from a pipe is first written to an unnamed temporary file in TMPDIR or \
/var/tmp.\n\
# Container images\n\
TAG may be left out if there is only one image. A digest may replace it, and @N is the image with that number, \
from 0. A compressed layer is decompressed to an unnamed temporary file in TMPDIR or /var/tmp. packline checks the \
digests of layers before it begins the image.\n\
docker://[HOST[:PORT]/]NAME[:TAG|@DIGEST] is an image in a registry, by default the image with the tag latest in Docker Hub. Its \
layers are decompressed while they arrive, several at a time. Names and passwords come from REGISTRY_AUTH_FILE, or from the files and \
programs of docker login, podman login and skopeo login. They are sent only to the registry and to the server of tokens that the registry \
names.\n\
# Lists of files\n\
--files-from packs each named entry with everything below it and the directories that lead to it. The order of \
the names makes no difference, and --exclude leaves out named entries too. A path with '..', a path through a \
symbolic link and a name that does not exist are errors. Empty lines are ignored; '#' does not begin a comment.\n\
# Size, order and layout\n\
--smallest uses the codec parameters that compress best. With xz it tries the x86 filter too, and the filters \
that --codec names.\n\
--order=input stores contents in the order of the source, and path sorts them by path. With similar, contents that \
have much in common are next to each other, which makes the image smaller. FILE has one path of the source per \
line, and a directory stands for the files below it; those contents come first, then the rest by path, or by \
similarity with --order=FILE,similar. Empty lines and lines that begin with '#' are ignored, and what --manifest adds \
comes last.\n\
With any order except input, all entries are listed before contents are read, and a tar that is compressed or \
comes through a pipe is decompressed to an unnamed temporary file in TMPDIR or /var/tmp. For similar, files \
smaller than a block are read twice. A change of one file may move others in such an image, so that --base and a \
stable layout save less.\n\
--layout=stable keeps most bytes of an image where the source changes little. This helps casync, desync and \
zsync, and updates that hash blocks of SIZE (default 4K), such as those of RAUC.\n\
packline finds an image at an --offset by itself; mount -o loop,offset=BYTES and unsquashfs -o BYTES read it \
there.\n\
--prepend writes another file before the image, and the image begins right after it, without padding, where the runtime of an \
AppImage looks for it. --prepend keep repacks an AppImage: the only SOURCE is a file in which an image follows other \
bytes. A new IMAGE may be executed if FILE (or SOURCE) may be; a replaced file keeps its permissions. A name that is \
keep is written ./keep. A loop device needs an image at a multiple of 512 bytes: pad FILE with truncate -s %4096.\n\
# EROFS images\n\
Codecs of EROFS are zstd, lzma, lz4, gzip (which EROFS calls deflate) and none. SIZE of --block-size is the \
content of a cluster, which is the unit of compression; Linux reads whole clusters. In images for Linux before 6.15, a \
cluster may have up to an eighth more content. --kernel chooses the features of the \
image: each version adds features that make images smaller. The label and the UUID of a source image are not \
copied; --label and --uuid set them.\n\
# Tars\n\
A tar keeps everything but sockets: owners, permissions, times with fractions of a second, extended attributes, hard \
links, devices and holes. packline warns about sockets, and leaves them out. Codecs of a tar are none, gzip, xz, zstd and bzip2, each with an optional \
:level=N; by default the ending of the name chooses one. Entries are in the order of the source, or of --order; tar restores the times of directories of the latter with --delay-directory-restore. Parts of a .tar.xz, .tar.gz or \
.tar.zst file are compressed by all workers, with the same bytes for any number of workers. Options for images are rejected.\n\
# Errors and changing files\n\
If a file changes while it is packed, packline warns, and the exit status is 0. A file that grew is stored up to \
the size that it had when it was listed. A file that got shorter is read again, up to 3 times, and then ends \
with zeros. In layers a file always keeps the size that it had when it was listed. Files in /proc and /sys, \
whose sizes are not true, are stored up to their end. A tar or an image that changes while it is packed is an \
error, because entries could be missing.\n\
--continue cannot leave out a file larger than 128K that fails while it is read, because parts of it are already \
in the image: the run ends. A smaller file is left out, and so are hard links to it.\n\
--lenient accepts an extended header without an entry before the end mark, a directory without a name (it is the \
root), and a time that is not a number.\n\
# Manifests and attributes\n\
An mtree manifest begins with #mtree, or with an entry that has keywords of mtree(5). The content of a file \
comes from contents=PATH, or from the file at the entry's own path, relative to the working directory, as with \
bsdtar. Attributes that FILE does not give come from that file. A size must be that of the content; digests are \
not compared.\n\
Owners are changed by --rootless-owners first, then by --owner-map, in which a number may have only one rule; \
--uid, --gid and --all-root override both. --xattrs-include and --xattrs-exclude match complete names, and '*' \
matches any characters. --file-contexts sets labels after that; directories that a tar only implies get no \
label.\n\
# Outputs\n\
A block device is written in place. An image for standard output (-) or a pipe is first written to an unnamed \
temporary file in TMPDIR or /var/tmp. All messages are then on standard error. --format tar SOURCE - and --format lrz SOURCE - write \
while they read.\n\
A .lrz file holds a tar. A directory and a tar are compressed as they are read; the tar of any other source is first written to an unnamed \
temporary file in TMPDIR or /var/tmp. Its codecs are none, gzip, bzip2, lzo, lzma and zpaq, each with level=1 to 9.\n\
Sizes may end in K, M, G or T.";

/// Returns the text after the options in the help.
pub(super) fn details() -> String {
    let details = DETAILS.replace("SQUASHFS_ENDINGS", &format!("{}, .raw with --verity", FileKind::SquashFs.endings()));
    let details = details.replace("EROFS_ENDINGS", &FileKind::Erofs.endings());
    format!("{details}\n{}", patterns::LANGUAGE)
}
