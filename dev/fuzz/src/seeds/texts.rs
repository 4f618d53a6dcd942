//! Seeds that are texts.

use super::Seed;

/// The documents of a container image, and of a docker archive.
pub fn oci() -> Vec<Seed> {
    let index =
        r#"{"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:@1","size":#1}]}"#;
    let manifest = r#"{"config":{"mediaType":"","digest":"sha256:@2","size":#2},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"sha256:@3","size":#3}]}"#;
    let config = r#"{"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":["sha256:@3"]}}"#;
    let docker = r#"[{"Config":"@2","RepoTags":["box:1"],"Layers":["@3"]}]"#;
    vec![
        Seed::new("layout", [index, manifest, config, "layer"].map(str::as_bytes).join(&0xff)),
        Seed::new("docker", [docker, "", config, "layer"].map(str::as_bytes).join(&0xff)),
    ]
}

/// A definition of each type.
pub fn pseudo_file() -> Vec<Seed> {
    let text = "/ D 1 755 0 0\n\"a b\" d 700 1 2\na\\ b/c C 3 600 0 0 1 3\nd b 600 0 0 7 1\ns s 0 0 0 to\np i 1 0 0 f\nl L s\n\
                / x user.k=0t\\001\nd x security.k=0xff\ns x user.k=0s/w==\na\\ b m 711 1 1\nr R 1 600 0 0 3 0 0\n\
                # START OF DATA - DO NOT MODIFY\n#\nabc";
    vec![Seed::new("types", text)]
}

/// An entry of each type, and every word that changes the meaning of lines.
pub fn mtree() -> Vec<Seed> {
    let text = "#mtree\n/set type=file uid=1 gid=2 mode=0640 time=5.25 nlink=1\n. type=dir\na size=0 sha256=00\nd type=dir\n\
                b type=block device=native,8,1\n..\n/unset mode all\n./d/c type=char device=259 inode=1 resdevice=2 nlink=2\n\
                l type=link \\\n link=a\\040\\s\\M-i\ns type=socket optional nochange\nf type=fifo ignore flags=none\n";
    vec![Seed::new("types", text)]
}

/// Actions of each kind, with tests of each kind, each a line.
pub fn action() -> Vec<Seed> {
    let texts = [
        "exclude@name(*.[ch]) && !(depth(>3) || size_range(1K,2M))",
        "prune@type(l) && !exists || absolute && subpathname(d/e)\nempty(excluded)@dircount(0)",
        "move(\"/d/new\")@pathname(\"/@(a|b)*\") || perm(-u+x,/7)",
        "guid(1,2)@eval(.., \"readlink(stat(uid(-5)))\")\nchmod(u=rw,go=r)@true",
        "xattrs-exclude(^user)@file(a)\nxattrs-add(user.a=0sQQ==)@exec(true)\nno-fragments@false",
    ];
    texts.into_iter().enumerate().map(|(number, text)| Seed::new(number.to_string(), text)).collect()
}
