import asyncio, os
async def test_before(): await asyncio.sleep(0)
async def test_fails(): assert 0
async def test_hangs(): await asyncio.Event().wait()
async def test_dies(): os.abort()
async def test_after(): await asyncio.sleep(0)
