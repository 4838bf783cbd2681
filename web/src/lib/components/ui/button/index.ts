export { default as Button, buttonVariants, type ButtonSize, type ButtonVariant } from './button.svelte';
