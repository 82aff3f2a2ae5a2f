/** Writes docs/profiles.md. */
import { writeFileSync } from "node:fs"
import * as Survival from "./Survival.ts"

writeFileSync(new URL("../../../docs/profiles.md", import.meta.url), Survival.page())
