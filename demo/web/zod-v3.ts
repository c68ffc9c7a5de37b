/**
 * Replaces `zod/v3` in the page. The AI SDK reads these names when it converts a schema of Zod 3 to JSON Schema, which a page
 * never does. Without this replacement every browser would load all of Zod 3.
 */
export const ZodFirstPartyTypeKind: Readonly<Record<string, string>> = {};
