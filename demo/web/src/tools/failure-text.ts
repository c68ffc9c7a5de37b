import type { Messages } from '../i18n/en.ts';
import { LOCATION_FAILURES } from './location.ts';
import type { ToolPart } from './tool-part.ts';

/** Why a call failed, for the person: what this page told the assistant is said in the language of the page. */
export function failureText({ errorText = '' }: ToolPart, { location }: Messages['tools']): string {
  for (const [reason, told] of Object.entries(LOCATION_FAILURES)) {
    if (told === errorText) return location.failures[reason as keyof typeof LOCATION_FAILURES];
  }
  return errorText;
}
