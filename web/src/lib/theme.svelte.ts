/** Light or dark: the person's choice if there is one, else the system's. `theme.js` set the first. */
const KEY = 'shard.theme';

export class Theme {
  #dark = $state(document.documentElement.dataset.theme === 'dark');

  get isDark(): boolean {
    return this.#dark;
  }

  toggle(): void {
    this.#dark = !this.#dark;
    const name = this.#dark ? 'dark' : 'light';
    document.documentElement.dataset.theme = name;
    localStorage.setItem(KEY, name);
  }
}
