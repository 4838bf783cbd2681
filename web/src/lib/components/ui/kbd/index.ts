export { default as Kbd } from './kbd.svelte';
