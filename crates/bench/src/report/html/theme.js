// Automatic, light, dark: the button goes round. Without a script the page follows the system.
(function () {
  var root = document.documentElement, button = document.getElementById("theme");
  var themes = ["", "light", "dark"], words = ["Theme: automatic", "Theme: light", "Theme: dark"];
  var at = Math.max(0, themes.indexOf(location.hash.slice(1)));
  function show() {
    if (themes[at]) root.setAttribute("data-theme", themes[at]); else root.removeAttribute("data-theme");
    button.textContent = words[at];
  }
  button.hidden = false;
  button.onclick = function () { at = (at + 1) % 3; show(); };
  show();
})();
