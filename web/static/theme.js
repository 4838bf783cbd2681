(function () {
  var theme = null;
  try {
    theme = localStorage.getItem('shard.theme');
  } catch (_) {
    // Storage may be blocked; the system's preference is a good answer.
  }
  if (theme !== 'light' && theme !== 'dark') {
    theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  }
  document.documentElement.dataset.theme = theme;
})();
