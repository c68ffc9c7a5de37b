const SECRET_NAME = /(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)/i;

/** The well-known forms of keys, in case one came from somewhere else than the environment. */
const SECRET_FORMS = [
  /sk-(?:ant-|proj-)?[A-Za-z0-9_-]{16,}/g,
  /AIza[A-Za-z0-9_-]{30,}/g,
  /(?:AKIA|ASIA)[A-Z0-9]{16}/g,
  /Bearer\s+[A-Za-z0-9._~+/-]{16,}=*/gi,
];

/** Removes every secret of the environment, and everything that looks like a key, from a text. */
export function scrub(text: string, env: Readonly<Record<string, string | undefined>>): string {
  let clean = text;
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && value.length >= 8 && SECRET_NAME.test(name))
      clean = clean.replaceAll(value, '[scrubbed]');
  }
  for (const form of SECRET_FORMS) clean = clean.replace(form, '[scrubbed]');
  return clean;
}
