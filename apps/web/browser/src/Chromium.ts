/** A real Chromium from the npm registry, without anything of the system. */
import chromium from "@sparticuz/chromium"
import { type Browser, chromium as playwright } from "playwright-core"

export const launch = async (): Promise<Browser> => {
  chromium.setGraphicsMode = false
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    args: [...chromium.args.filter((arg) => !ADDED.test(arg)), "--no-sandbox"],
    headless: true
  })
}

// --- internal

/** Playwright chooses these itself. Without site isolation the page would not run as it does for a person. */
const ADDED =
  /^--(?:headless|disable-features|disable-site-isolation-trials|disable-web-security|allow-running-insecure-content|single-process|no-zygote)/
