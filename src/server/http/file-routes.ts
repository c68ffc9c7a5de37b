import type { Part } from '@google/genai';
import { ProtocolError } from '../../protocol/index.ts';
import type { Reply } from './reply.ts';
import type { RouteCall } from './route.ts';

/** Types that a browser can show in a tab and that run no script. Every other file is sent as a download. */
const SHOWN = /^(?:image\/(?:png|jpeg|gif|webp)|audio\/[\w.+-]+|video\/[\w.+-]+)$/;

/** Matches media types that may be written into a header. The type of a file comes from the application, a model or a user. */
const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+$/;

/** Answers with a file of a session. */
export async function getFile({ context, user, params: [id = '', fileId = ''] }: RouteCall): Promise<Reply> {
  const { store, appName: app } = context.engine;
  const file = await store.loadFile({ app, user, id }, fileId);
  if (!file) throw new ProtocolError('not_found', 'There is no such file.');
  // The id of a file is a hash of its content, so the file at this address never changes.
  return fileReply(file.bytes, file.mediaType, null, 'private, max-age=31536000, immutable');
}

/** Answers with a version of an artifact: the newest unless the request names one. */
export async function getArtifact({ context, request, user, params: [id = ''] }: RouteCall): Promise<Reply> {
  const { store, runner, appName } = context.engine;
  const { searchParams } = new URL(request.url);
  const filename = searchParams.get('name');
  if (filename === null) throw new ProtocolError('bad_request', '"name" must be the name of an artifact.');
  const version = versionIn(searchParams.get('version'));
  const key = { app: appName, user, id };
  // The session is checked first: artifacts of the user outlive it, and an artifact service of the application may not know which sessions exist.
  const session = await store.findSession(key);
  const found =
    session &&
    (await runner.artifactService?.loadArtifact({
      appName,
      userId: user,
      sessionId: id,
      filename,
      ...(version === undefined ? {} : { version }),
    }));
  const file = found ? contentOf(found) : null;
  if (!file) throw new ProtocolError('not_found', 'There is no such file.');
  return fileReply(file.bytes, file.mediaType, filename, 'private, no-cache');
}

function versionIn(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new ProtocolError('bad_request', '"version" must be a whole number that is not negative.');
}

function contentOf({ inlineData, text }: Part): { bytes: Uint8Array; mediaType: string } | null {
  if (inlineData) {
    const { data = '', mimeType = '' } = inlineData;
    return { bytes: Buffer.from(data, 'base64'), mediaType: mimeType };
  }
  return text === undefined ? null : { bytes: Buffer.from(text), mediaType: 'text/plain' };
}

/** The reply with a file. Files that may contain scripts, such as HTML and SVG, are downloads, so that no script runs on the origin of the application. */
function fileReply(body: Uint8Array, type: string, filename: string | null, cacheControl: string): Reply {
  const [bare = ''] = type.toLowerCase().split(';');
  const mediaType = MEDIA_TYPE.test(bare.trim()) ? bare.trim() : 'application/octet-stream';
  const disposition = SHOWN.test(mediaType) ? 'inline' : 'attachment';
  return {
    status: 200,
    headers: {
      'content-type': mediaType.startsWith('text/') ? `${mediaType}; charset=utf-8` : mediaType,
      'content-disposition': disposition + nameParameter(filename),
      'cache-control': cacheControl,
      'content-security-policy': "default-src 'none'; sandbox",
    },
    body,
  };
}

/** The `filename*` parameter of `content-disposition`: an artifact's name without the prefix `user:`, after its last slash. Empty when there is no name. */
function nameParameter(filename: string | null): string {
  const last = filename
    ?.replace(/^user:/, '')
    .split(/[/\\]/)
    .at(-1);
  if (!last) return '';
  const encoded = encodeURIComponent(last).replace(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `; filename*=UTF-8''${encoded}`;
}
