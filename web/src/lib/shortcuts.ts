/** Keys that work anywhere on the page, unless they are typed into something. */

/** How long after `g` the second key may come. */
const SECOND_WITHIN = 1200;

export interface Actions {
  palette(): void;
  fleet(): void;
  previousAgent(): void;
  composer(): void;
  help(): void;
}

export function createShortcuts(actions: Actions): (event: KeyboardEvent) => void {
  let afterG = 0;
  return (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      actions.palette();
      return;
    }
    if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
    const second = Date.now() - afterG < SECOND_WITHIN;
    afterG = 0;
    if (second && event.key === 'f') actions.fleet();
    else if (second && event.key === 'a') actions.previousAgent();
    else if (event.key === 'g') afterG = Date.now();
    else if (event.key === 'c') actions.composer();
    else if (event.key === '?') actions.help();
    else return;
    event.preventDefault();
  };
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  // A question's card takes single keys of its own.
  return (
    target.isContentEditable ||
    target.closest('input, textarea, select, [data-ask], [role="dialog"]') !== null
  );
}
