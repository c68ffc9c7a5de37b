/**
 * Stands for the file of Zod that turns schemas into JSON Schema. Zod and the AI SDK name its functions in every schema, and a page never calls
 * them: without this, every browser would load them.
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
