/** Writes docs/crowd.md and docs/images/crowd.svg. */
import { writeFileSync } from "node:fs"
import * as CrowdPage from "./CrowdPage.ts"

const docs = new URL("../../../docs/", import.meta.url)

writeFileSync(new URL("crowd.md", docs), CrowdPage.page())
writeFileSync(new URL("images/crowd.svg", docs), CrowdPage.svg())
