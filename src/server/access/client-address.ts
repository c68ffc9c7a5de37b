import { BlockList, isIP } from 'node:net';

/** The proxies in front of the server whose `X-Forwarded-For` is trusted: their number, or their addresses and networks (`10.0.0.0/8`). */
export type TrustedProxies = number | readonly string[];

const UNKNOWN = 'unknown';
const addresses = new WeakMap<Request, string>();

/** Stores the address of the connection of a request. */
export function noteAddress(request: Request, address: string | undefined): void {
  if (address !== undefined) addresses.set(request, address);
}

/**
 * The address of the client that sent a request, as the trusted proxies report it. An IPv6 address is replaced by its network of 64 bits, because one client
 * can use all addresses of that network. `unknown` when no address is known: the adapter gives none for the connection, and no header that is trusted gives
 * one.
 */
export function addressOf(request: Request, trusted: TrustedProxies = 0): string {
  const connection = plain(addresses.get(request) ?? '');
  const header = request.headers.get('x-forwarded-for') ?? '';
  const hops = header === '' ? [] : header.split(',').map(plain);
  // The nearest proxy added the last entry; a client may have invented the entries before those of trusted proxies.
  const path = [...hops, connection];
  const isTrusted = typeof trusted === 'number' ? () => true : networksOf(trusted);
  const most = typeof trusted === 'number' ? trusted : hops.length;
  let at = path.length - 1;
  for (let hop = 0; hop < most && at > 0 && path[at - 1] !== '' && isTrusted(path[at] ?? ''); hop++) at--;
  return network(path[at] ?? '');
}

/** Whether a value is valid as `trustedProxies`. */
export function areProxies(value: unknown): value is TrustedProxies {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0;
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string')) return false;
  try {
    networksOf(value);
    return true;
  } catch {
    return false;
  }
}

function networksOf(trusted: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const entry of trusted) {
    const [address = '', bits] = entry.split('/');
    // `Number('')` is 0, and a network of 0 bits contains every address.
    if (bits?.trim() === '')
      throw new TypeError(`The network "${entry}" has no number of bits: write it like 10.0.0.0/8.`);
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address));
}

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Removes brackets, the port, and the prefix `::ffff:` before an IPv4 address. Returns an empty text when the rest is not an IP address. */
function plain(text: string): string {
  const [, inBrackets, withPort = text] =
    /^\s*(?:\[(.*)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)\s*$/.exec(text) ?? [];
  const address = (inBrackets ?? withPort).trim().replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(address) === 0 ? '' : address;
}

/** Replaces an IPv6 address by its network of 64 bits, and an empty text by `unknown`. */
function network(address: string): string {
  if (isIP(address) !== 6) return address || UNKNOWN;
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? [];
  const groups = head === '' ? [] : head.split(':');
  const rest = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - groups.length - rest.length }, () => '0');
  const first = [...groups, ...zeros, ...rest].slice(0, 4);
  return `${first.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}
