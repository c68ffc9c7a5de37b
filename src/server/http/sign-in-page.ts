import { randomBytes } from 'node:crypto';
import type { ErrorCode } from '../../protocol/index.ts';
import type { Reply } from './reply.ts';
import type { RouteCall } from './route.ts';

/** The texts of the page that ends a sign-in, in one language. */
interface Words {
  title: string;
  completing: string;
  noScript: string;
  /** Follows the text about the answer of the server, except `signedOut`. */
  close: string;
  signedIn: string;
  declined: string;
  /** The browser has no session of the application. */
  signedOut: string;
  unreachable: string;
  /** What the server refused, by the code of its error. The text of the error itself is shown for other codes, or `failed`, if there is one. */
  errors: Partial<Record<ErrorCode, string>>;
  failed?: string;
}

const ENGLISH: Words = {
  title: 'Sign-in',
  completing: 'Completing the sign-in.',
  noScript: 'Allow JavaScript for this page, and load it again.',
  close: ' You can close this window.',
  signedIn: 'You are signed in.',
  declined: 'You did not sign in.',
  signedOut:
    'You are not signed in to the application in this browser. Sign in there, and begin again in the conversation.',
  unreachable: 'The server cannot be reached. Begin again in the conversation.',
  errors: {},
};

const JAPANESE: Words = {
  title: 'ログイン',
  completing: 'ログインを完了しています。',
  noScript: 'このページで JavaScript を許可して、もう一度読み込んでください。',
  close: 'このウィンドウは閉じてかまいません。',
  signedIn: 'ログインしました。',
  declined: 'ログインしませんでした。',
  signedOut:
    'このブラウザーではアプリケーションにログインしていません。アプリケーションにログインしてから、会話でもう一度始めてください。',
  unreachable: 'サーバーに接続できません。会話でもう一度始めてください。',
  errors: {
    bad_request:
      'このアドレスに対応するログインはありません。サーバーが再起動された可能性もあります。会話でもう一度始めてください。',
    forbidden:
      'このログインは別のユーザーが始めたものです。そのユーザーとしてアプリケーションにログインしてください。',
    answer_refused: 'このログインはすでに終わっています（完了、拒否、取り消し、または時間切れ）。',
  },
  failed: 'ログインを完了できませんでした。しばらくしてから、会話でもう一度始めてください。',
};

/** The texts in the language that the browser of a request prefers: Japanese, or else English. */
export function signInWords({ headers }: Pick<Request, 'headers'>): Words {
  const wanted = (headers.get('accept-language') ?? '').split(',').flatMap((entry) => {
    const [, language, quality = '1'] = /^\s*(en|ja)\b[^;]*(?:;\s*q=([\d.]+))?/i.exec(entry) ?? [];
    return language === undefined ? [] : { language: language.toLowerCase(), quality: Number(quality) };
  });
  const [first] = wanted.sort((one, other) => other.quality - one.quality);
  return first?.language === 'ja' ? JAPANESE : ENGLISH;
}

/**
 * The page to which a sign-in provider sends the browser back. Its script posts the query parameters to this server in a second request: with the first one,
 * which the provider's site caused, browsers do not send a cookie of the user that is `SameSite=Strict`.
 */
export function signInPage({ request }: Pick<RouteCall, 'request'>): Reply {
  const nonce = randomBytes(16).toString('base64');
  return {
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-security-policy': `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    },
    body: pageIn(signInWords(request), nonce),
  };
}

const pageIn = (words: Words, nonce: string) => `<!doctype html>
<html lang="${words === JAPANESE ? 'ja' : 'en'}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${words.title}</title>
<style nonce="${nonce}">:root { color-scheme: light dark } body { font: 1.1rem/1.5 system-ui, sans-serif; margin: 20vh auto; max-width: 32rem; padding: 0 1rem; text-align: center; text-wrap: balance; word-break: auto-phrase }</style>
<p id="text" role="status">${words.completing}</p>
<noscript>${words.noScript}</noscript>
<script nonce="${nonce}">
const words = ${JSON.stringify(words)};
const given = new URLSearchParams(location.search);
const text = document.getElementById('text');
history.replaceState(null, '', location.pathname);
fetch(location.pathname, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ state: given.get('state'), code: given.get('code'), error: given.get('error') }),
})
  .then(async (answer) => {
    const { message, error } = await answer.json();
    text.textContent = answer.status === 401
      ? words.signedOut
      : (message || words.errors[error.code] || words.failed || error.message) + words.close;
  })
  .catch(() => {
    text.textContent = words.unreachable;
  });
</script>
</html>
`;
