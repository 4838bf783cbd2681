export { default as Input, inputVariants } from './input.svelte';
