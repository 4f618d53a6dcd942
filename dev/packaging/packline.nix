# Nix: `nix-build -E 'with import <nixpkgs> {}; callPackage ./packline.nix {}'` builds packline from the source archive of a release.
{ lib, stdenv, cargo, rustc, installShellFiles, fetchurl }:

stdenv.mkDerivation rec {
  pname = "packline";
  version = "@VERSION@";

  src = fetchurl {
    url = "@URL@/packline-${version}-source.tar.xz";
    sha256 = "@SHA256@";
  };

  nativeBuildInputs = [ cargo rustc installShellFiles ];

  # The archive has all crates, and a configuration of cargo that finds them.
  buildPhase = ''
    runHook preBuild
    export CARGO_HOME=$TMPDIR/cargo
    cargo build --release --frozen --package packline-cli -j $NIX_BUILD_CORES
    runHook postBuild
  '';

  installPhase = ''
    runHook preInstall
    install -Dm755 -t $out/bin target/release/packline
    mkdir pages
    $out/bin/packline man --all pages
    installManPage pages/packline*.1
    rm pages/packline*.1
    mkdir -p $out/lib/packline/bin $out/lib/packline/man
    mv pages $out/lib/packline/man/man1
    $out/bin/packline links --quiet --target ../../../bin/packline $out/lib/packline/bin
    installShellCompletion --cmd packline \
      --bash <($out/bin/packline completions bash) \
      --zsh <($out/bin/packline completions zsh) \
      --fish <($out/bin/packline completions fish)
    runHook postInstall
  '';

  meta = {
    description = "Packs directories, tars and streams into compressed images on all processors";
    license = with lib.licenses; [ mit asl20 ];
    mainProgram = "packline";
    platforms = lib.platforms.linux;
  };
}
