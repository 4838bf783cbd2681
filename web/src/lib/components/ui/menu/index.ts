export { default as Menu } from './menu.svelte';
export { default as MenuItem } from './menu-item.svelte';
export { default as MenuNote } from './menu-note.svelte';
export { default as MenuSeparator } from './menu-separator.svelte';
