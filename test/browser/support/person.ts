import { buffer } from 'node:stream/consumers';
import type { Locator, Page } from 'playwright-core';

/** A picture of one dot. */
export const DOT = {
  name: 'a.png',
  mimeType: 'image/png',
  buffer: Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
};

/** The actions of a user, and what the page shows. */
export class Person {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  /** The message box. */
  get box(): Locator {
    return this.page.getByRole('textbox', { name: /^(Message|メッセージ)$/ });
  }

  get cards(): Locator {
    return this.page.getByTestId('approval-card');
  }

  /** The approval cards in a state. */
  card(state: string): Locator {
    return this.page.locator(`[data-testid="approval-card"][data-state="${state}"]`);
  }

  statesOfCards(): Promise<(string | null)[]> {
    return this.cards.evaluateAll((cards) => cards.map((card) => card.getAttribute('data-state')));
  }

  get answers(): Locator {
    return this.page.getByTestId('message-assistant');
  }

  get own(): Locator {
    return this.page.getByTestId('message-user');
  }

  /** The calls that needed no approval and have an output. */
  toolsDone(): Promise<(string | null)[]> {
    return this.page
      .locator('[data-testid="tool-card"][data-state-of-call="output-available"]')
      .evaluateAll((cards) => cards.map((card) => card.getAttribute('data-tool')));
  }

  /** The connection status that the page shows. */
  connection(status: string): Locator {
    return this.page.locator(`[data-testid="connection"][data-status="${status}"]`);
  }

  isBusy(): Promise<boolean> {
    return this.page.locator('[data-testid="message-assistant"][aria-busy="true"]').isVisible();
  }

  async say(text: string): Promise<void> {
    await this.box.fill(text);
    await this.box.press('Enter');
  }

  /** Approves the card that has waited longest. */
  async approve(): Promise<void> {
    await this.answer(/^(Approve|承認)$/);
  }

  /** Denies the card that has waited longest. */
  async deny(reason?: string): Promise<void> {
    if (reason !== undefined) {
      const card = this.card('requested').first();
      await card.getByRole('button', { name: /^(Add a reason|理由を追加)$/ }).click();
      await card.getByRole('textbox').fill(reason);
    }
    await this.answer(/^(Deny|拒否)$/);
  }

  async chooseMode(mode: 'SSE' | 'BIDI'): Promise<void> {
    const wanted = mode === 'SSE' ? 'sse' : 'bidi';
    await this.pickMode(wanted);
    await this.page.locator(`[data-mode="${wanted}"]`).waitFor();
  }

  /** Chooses a mode in the menu. Does not wait for it: in mid-answer it begins later. */
  async pickMode(wanted: 'sse' | 'bidi'): Promise<void> {
    await this.page.locator('[data-mode]').click();
    await this.page.locator(`[role="menuitemradio"][data-value="${wanted}"]`).click();
  }

  /** Opens a panel beside the conversation. */
  async openPanel(name: 'Inspector' | 'Approval log'): Promise<Locator> {
    if (name === 'Inspector') await this.page.getByRole('button', { name, exact: true }).click();
    else {
      await this.page.getByRole('button', { name: 'Settings' }).click();
      await this.page.getByRole('menuitem', { name }).click();
    }
    const panel = this.page.getByRole('complementary', { name });
    await panel.waitFor();
    return panel;
  }

  /** Presses a button that saves a file; returns the content of the file. */
  async save(button: Locator): Promise<Buffer> {
    const download = this.page.waitForEvent('download');
    await button.click();
    return buffer(await (await download).createReadStream());
  }

  private async answer(name: RegExp): Promise<void> {
    const id = await this.card('requested').first().getAttribute('aria-labelledby');
    await this.card('requested').first().getByRole('button', { name }).click();
    // Waits until the card leaves this state, so that the next call does not answer it again.
    await this.page
      .locator(`[data-state="requested"][aria-labelledby="${id}"]`)
      .waitFor({ state: 'detached' });
  }
}
