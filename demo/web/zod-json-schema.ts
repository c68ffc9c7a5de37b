/**
 * Replaces the file of Zod that converts schemas to JSON Schema. Zod and the AI SDK refer to its functions in every schema, but a page never calls
 * them. Without this replacement every browser would load them.
 */
const unavailable = (): never => {
  throw new Error('This page cannot turn a schema into JSON Schema.');
};

export {
  unavailable as createStandardJSONSchemaMethod,
  unavailable as createToJSONSchemaMethod,
  unavailable as extractDefs,
  unavailable as finalize,
  unavailable as handleUnrepresentable,
  unavailable as initializeContext,
  unavailable as processSchema,
};
