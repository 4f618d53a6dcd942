# Homebrew on Linux: `brew install --formula ./packline.rb` builds packline from the source archive of a release.
class Packline < Formula
  desc "Packs directories, tars and streams into compressed images on all processors"
  url "@URL@/packline-@VERSION@-source.tar.xz"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build
  depends_on :linux

  def install
    system "cargo", "build", "--release", "--frozen", "--package", "packline-cli"
    bin.install "target/release/packline"
    mkdir "pages"
    system bin/"packline", "man", "--all", "pages"
    man1.install Dir["pages/packline*.1"]
    (lib/"packline/man/man1").install Dir["pages/*.1"]
    (lib/"packline/bin").mkpath
    system bin/"packline", "links", "--quiet", "--target", "../../../bin/packline", lib/"packline/bin"
    generate_completions_from_executable(bin/"packline", "completions")
  end

  test do
    (testpath/"tree/file").write "text"
    system bin/"packline", "pack", "tree", "tree.sqfs"
    assert_equal "text", shell_output("#{bin}/packline cat tree.sqfs file")
  end
end
