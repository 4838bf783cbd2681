/** The answers to a permission request, whichever way the server offers them. */
import type {
  ChoiceIntent,
  PermissionDecision,
  PermissionDetail,
  PermissionRequest
} from '$lib/protocol/types';

export interface Choice {
  id: string;
  label: string;
  description?: string;
  accelerator?: string;
  intent: ChoiceIntent;
  answer: { choice_id: string } | { decision: PermissionDecision };
}

const PLAIN: Record<PermissionDecision, Omit<Choice, 'id' | 'answer'>> = {
  allow: { label: 'Allow once', accelerator: 'a', intent: 'allow' },
  allow_always: { label: 'Always allow exactly this', accelerator: 'A', intent: 'persist' },
  deny: { label: 'Deny', accelerator: 'd', intent: 'deny' }
};

export function choicesOf(request: PermissionRequest): Choice[] {
  if (request.choices && request.choices.length > 0) {
    return request.choices.map((choice) => ({ ...choice, answer: { choice_id: choice.id } }));
  }
  return request.options.map((decision) => ({ id: decision, ...PLAIN[decision], answer: { decision } }));
}

/** What deserves a second look before a yes. */
export function isRisky(detail: PermissionDetail): boolean {
  const words = /outside|protected|unparsable|not understood|network|sudo|delete/i;
  const describes = detail.format === undefined || detail.format === 'text' || detail.format === 'path';
  return describes && words.test(`${detail.label ?? ''} ${detail.format === 'path' ? '' : detail.value}`);
}
