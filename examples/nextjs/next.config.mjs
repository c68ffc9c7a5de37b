/** @type {import('next').NextConfig} */
const config = {
  // ADK loads parts of itself at run time, which a bundle would cut off. Duologue does not, and belongs into the bundle: outside
  // of it `duologue/react` would meet another React than the page's.
  serverExternalPackages: ['@google/adk'],
};

export default config;
