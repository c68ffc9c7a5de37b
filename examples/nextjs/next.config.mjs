/** @type {import('next').NextConfig} */
const config = {
  // ADK loads parts of itself at run time, which a bundle would cut off.
  serverExternalPackages: ['@google/adk'],
};

export default config;
