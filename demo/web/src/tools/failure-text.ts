import type { Messages } from '../i18n/en.ts';
import type { Language } from '../i18n/language.tsx';
import { pageTool } from './page-tools.tsx';
import { type ToolPart, toolName } from './tool-part.ts';

/** The error text of a call for the user: in the language of the page if there is a translation, otherwise as it was sent. */
export function failureText(part: ToolPart, language: Language, { errors }: Messages): string {
  const { errorText = '' } = part;
  return pageTool(toolName(part))?.failure?.(errorText, language) ?? errors.texts(errorText) ?? errorText;
}
