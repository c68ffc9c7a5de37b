// Imported first by every script, so that an old Node gets one clear sentence instead of a stack trace.

const wanted = [20, 19];
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < wanted[0] || (major === wanted[0] && minor < wanted[1])) {
  console.error(
    `duologue needs Node ${wanted.join('.')} or newer; this is Node ${process.versions.node} (${process.execPath}).\n` +
      'Install a newer Node from https://nodejs.org or with your version manager, then run the same command again.',
  );
  process.exit(1);
}
