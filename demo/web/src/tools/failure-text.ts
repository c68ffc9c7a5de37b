import type { Messages } from '../i18n/en.ts';
import type { Language } from '../i18n/language.tsx';
import { pageTool } from './page-tools.tsx';
import { type ToolPart, toolName } from './tool-part.ts';

/** Why a call failed, for the user: what this page or the server told the assistant is said in the language of the page. */
export function failureText(part: ToolPart, language: Language, { errors }: Messages): string {
  const { errorText = '' } = part;
  return pageTool(toolName(part))?.failure?.(errorText, language) ?? errors.texts(errorText) ?? errorText;
}
