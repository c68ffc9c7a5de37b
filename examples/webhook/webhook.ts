import type { DeliveryInfo, ServerEvent } from 'duologue/server';
import { sign } from './signature.ts';

/**
 * Returns a function that posts events to a URL, signed. It fails unless the receiver answers with a status of 200 to 299: then the subscription tries the event again. Each attempt is
 * signed anew, since the receiver refuses old signatures.
 */
export function webhook(url: string, secret: string, now: () => number = Date.now) {
  return async (event: ServerEvent, { signal }: DeliveryInfo): Promise<void> => {
    const body = JSON.stringify(event);
    const { timestamp, signature } = sign(secret, body, now());
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': event.id,
        'webhook-timestamp': timestamp,
        'webhook-signature': signature,
      },
      body,
      signal,
      redirect: 'error',
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`the receiver answered ${response.status}`);
  };
}
