/**
 * Stands for `zod/v3` in the page. The AI SDK reads these names when it turns a schema of Zod 3 into JSON Schema, which a
 * page never does: without this, every browser would load all of Zod 3 for them.
 */
export const ZodFirstPartyTypeKind: Readonly<Record<string, string>> = {};
