// SPDX-License-Identifier: MIT
// make_walls.mjs FOLDER COUNT: 0.ppm, 1.ppm, ...
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { wall } from './service.mjs';

const [folder, count] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
for (let i = 0; i < Number(count); ++i) writeFileSync(join(folder, `${i}.ppm`), wall(i));
